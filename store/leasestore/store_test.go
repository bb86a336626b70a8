package leasestore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/storetest"
)

// Calls that must be decided one by one take nothing ahead, so the conformance suite holds.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, leasestore.Config{Store: newBehind(t), Units: 1}) })
}

func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg   leasestore.Config
		field string
	}{
		"no store":                     {leasestore.Config{}, "Store"},
		"a nil pointer to a store":     {leasestore.Config{Store: (*localstore.Store)(nil)}, "Store"},
		"a store that settles nothing": {leasestore.Config{Store: plain{}}, "Store"},
		"negative units":               {leasestore.Config{Store: newBehind(t), Units: -1}, "Units"},
		"too many units":               {leasestore.Config{Store: newBehind(t), Units: 1<<16 + 1}, "Units"},
		"too short":                    {leasestore.Config{Store: newBehind(t), For: time.Microsecond}, "For"},
		"too long":                     {leasestore.Config{Store: newBehind(t), For: time.Minute}, "For"},
		"a negative time":              {leasestore.Config{Store: newBehind(t), For: -1}, "For"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := leasestore.New(c.cfg)
			var ce *store.ConfigError
			if !errors.As(err, &ce) || ce.Field != "leasestore.Config."+c.field {
				t.Errorf("%v, want an error of %s", err, c.field)
			}
		})
	}
}

type plain struct{}

func (plain) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{}, nil
}

// One process gets exactly the limit under every algorithm, with few store calls.
func TestExactInOneProcess(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				s := open(t, leasestore.Config{Store: b})
				defer done(t, s)
				l := store.Per(10000, time.Hour).By(a)
				if n := spend(t, s, 20000, l); n != 10000 {
					t.Errorf("%d admitted of 10000", n)
				}
				want := int64(400)
				if a == store.SlidingWindow {
					want = 10001
				}
				if calls := b.takes.Load(); calls > want {
					t.Errorf("%d calls of the store, want at most %d", calls, want)
				}
				d, was := take(t, s, charge("k", 1, l)), take(t, b, charge("k", 1, l))
				if d.Allowed || d.RetryAfter != was.RetryAfter || d.Remaining != 0 || d.Limit != l {
					t.Errorf("a refusal: %+v, want %+v", d, was)
				}
			})
		})
	}
}

// Remaining is true from the first call to the last, without other callers.
func TestRemaining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, leasestore.Config{Store: newBehind(t)})
		defer done(t, s)
		hour, day := store.Per(1000, time.Hour).By(store.FixedWindow), store.Per(5000, 24*time.Hour).By(store.FixedWindow)
		for left := int64(999); left >= 0; left-- {
			d := take(t, s, charge("k", 1, hour, day))
			if !d.Allowed || d.Remaining != left || d.Charge(1).Remaining != left+4000 || d.ResetAfter != time.Hour {
				t.Fatalf("with %d left: %+v", left, d)
			}
		}
	})
}

// The 33rd call within half a second takes units ahead, if the limit has enough. Each
// earlier call asks the store once.
func TestBusyEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		units int64
		calls int
		every time.Duration
		limit int64
		takes int64
	}{
		"now and then":                 {calls: 100, every: time.Second, limit: 1000, takes: 100},
		"59 a second":                  {calls: 200, every: 17 * time.Millisecond, limit: 1000, takes: 200},
		"33 at once":                   {calls: 33, limit: 1000, takes: 33},
		"more at once":                 {calls: 64, limit: 1000, takes: 33},
		"a limit that is just enough":  {calls: 40, limit: 256, takes: 33},
		"a limit that is not":          {calls: 100, limit: 255, takes: 100},
		"few units, of a small limit":  {units: 4, calls: 8, limit: 40, takes: 5},
		"few units, of one too small":  {units: 4, calls: 8, limit: 31, takes: 8},
		"nothing ahead, however often": {units: 1, calls: 200, limit: 10_000, takes: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if n, _ := paced(t, c.units, c.calls, c.every, store.Per(c.limit, time.Hour)); n != c.takes {
					t.Errorf("%d calls of the store, want %d", n, c.takes)
				}
			})
		})
	}
}

// Unused units go back after their time.
func TestNothingIsStranded(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				s := open(t, leasestore.Config{Store: b})
				defer done(t, s)
				time.Sleep(24*time.Hour + time.Minute)
				l := store.Per(10000, 24*time.Hour).By(a)
				if n := spend(t, s, 70, l); n != 70 {
					t.Fatalf("%d admitted", n)
				}
				if left := take(t, b, charge("k", 0, l)).Remaining; a != store.SlidingWindow && left > 9920 {
					t.Fatalf("nothing was taken ahead: %d left", left)
				}
				time.Sleep(leasestore.DefaultFor)
				synctest.Wait()
				if left := take(t, b, charge("k", 0, l)).Remaining; left != 9930 {
					t.Errorf("%d left after 70 of 10000", left)
				}
			})
		})
	}
}

// Units of a window are not used in the next one.
func TestWindowsEnd(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				s := open(t, leasestore.Config{Store: b, For: 10 * time.Second})
				defer done(t, s)
				l := store.Per(1000, 5*time.Second).By(a)
				if n := spend(t, s, 100, l); n != 100 {
					t.Fatalf("%d admitted", n)
				}
				time.Sleep(5 * time.Second)
				was := b.takes.Load()
				take(t, s, charge("k", 1, l))
				if b.takes.Load() == was {
					t.Error("a unit of the window before was used")
				}
			})
		})
	}
}

// Any number of processes together keep the limit and lose none of it.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				l := store.Per(5000, 24*time.Hour).By(a)
				var admitted atomic.Int64
				var all sync.WaitGroup
				for range 4 {
					s := open(t, leasestore.Config{Store: b})
					defer done(t, s)
					for range 16 {
						all.Go(func() {
							for range 200 {
								if take(t, s, charge("k", 1, l)).Allowed {
									admitted.Add(1)
								}
								time.Sleep(3 * time.Millisecond)
							}
						})
					}
				}
				all.Wait()
				if n := admitted.Load(); n != 5000 {
					t.Errorf("%d admitted of 5000", n)
				}
			})
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := open(t, leasestore.Config{Store: b, For: 10 * time.Second})
	l := store.Per(10000, time.Hour)
	spend(t, s, 100, l)
	done(t, s)
	if left := take(t, b, charge("k", 0, l)).Remaining; left != 9900 {
		t.Errorf("%d left of 10000 after 100 and Close", left)
	}
	if !take(t, s, charge("k", 1, l)).Allowed {
		t.Error("a call after Close was refused")
	}
	done(t, s)
}

// A failure reaches the call that met it. Calls that waited for that call ask the store
// themselves.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := open(t, leasestore.Config{Store: b, For: 10 * time.Second})
	defer done(t, s)
	away := errors.New("away")
	b.err.Store(&away)
	for range 5 {
		if _, err := s.Take(context.Background(), charge("k", 1, store.Per(10, time.Hour))); !errors.Is(err, away) {
			t.Errorf("error %v", err)
		}
	}
	if n := b.takes.Load(); n != 5 {
		t.Errorf("%d calls of the store for 5", n)
	}
	b.err.Store(nil)
	if n := spend(t, s, 20, store.Per(10, time.Hour)); n != 10 {
		t.Errorf("%d admitted of 10", n)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Take(ended, charge("k", 1, store.Per(10, time.Hour))); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if _, err := s.Take(context.Background(), charge("k", 1, store.Limit{Rate: -1})); !errors.Is(err, store.ErrConfig) {
		t.Errorf("with a wrong limit: %v", err)
	}
}

// unforgiving is a store that takes nothing back, like a plainstore.
type unforgiving struct{ *behind }

func (u unforgiving) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.Cancelable {
		return store.Decision{}, store.ErrUnsupported
	}
	return u.behind.Take(ctx, req)
}

// Nothing is taken ahead of a store that takes nothing back.
func TestNothingIsTakenThatCannotBeGivenBack(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := open(t, leasestore.Config{Store: unforgiving{b}, For: 10 * time.Second})
	l := store.Per(1000, time.Hour).By(store.FixedWindow)
	if n := spend(t, s, 2000, l); n != 1000 {
		t.Errorf("%d admitted of 1000", n)
	}
	done(t, s)
}

// A reset and a pause hold at once for units of this process.
func TestResetAndBrake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: b, For: 10 * time.Second})
		defer done(t, s)
		l := store.Per(1000, time.Hour).By(store.FixedWindow)
		spend(t, s, 100, l)
		if err := s.Reset(t.Context(), "api", "k"); err != nil {
			t.Fatal(err)
		}
		if n := spend(t, s, 2000, l); n != 1000 {
			t.Errorf("%d admitted after a reset, want 1000", n)
		}
		other := store.Per(10000, time.Hour)
		spend(t, s, 100, other)
		if err := s.Brake(t.Context(), charge("k", 0, other).Charges, store.Brake{Pause: time.Second}); err != nil {
			t.Fatal(err)
		}
		if d := take(t, s, charge("k", 1, other)); d.Allowed || d.Reason != store.ReasonPaused {
			t.Errorf("a paused key: %+v", d)
		}
		time.Sleep(2 * time.Second)
		spend(t, s, 100, other)
		if err := b.Brake(t.Context(), charge("k", 0, other).Charges, store.Brake{Pause: time.Second}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d := take(t, s, charge("k", 1, other)); d.Allowed || d.Reason != store.ReasonPaused {
			t.Errorf("a key that another process paused: %+v", d)
		}
	})
}

// Costs and limits may change from call to call.
func TestChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, leasestore.Config{Store: newBehind(t)})
		defer done(t, s)
		sum := int64(0)
		for i := range int64(20000) {
			cost, l := 1+i%7, store.Per(5000+i/500, 24*time.Hour).By(store.FixedWindow)
			if take(t, s, charge("k", cost, l)).Allowed {
				sum += cost
			}
			if i%100 == 0 {
				time.Sleep(60 * time.Millisecond)
			}
		}
		// Units taken ahead under one limit can't be given back under the next.
		if sum > 5039 || sum < 5039-20*leasestore.DefaultUnits {
			t.Errorf("%d units admitted of 5039", sum)
		}
	})
}

func TestManyKeys(t *testing.T) {
	t.Parallel()
	s := open(t, leasestore.Config{Store: newBehind(t)})
	s.SetRoom(1)
	defer done(t, s)
	l := store.Per(3, time.Hour)
	for range 4 {
		for i := range 1000 {
			take(t, s, charge(string(rune('a'+i)), 1, l))
		}
	}
	if d := take(t, s, charge("a", 1, l)); d.Allowed {
		t.Errorf("a fourth of 3: %+v", d)
	}
}

func TestUnitTakenAheadAllocatesNothing(t *testing.T) {
	s := open(t, leasestore.Config{Store: newBehind(t), Units: 10000, For: 10 * time.Second})
	defer done(t, s)
	req := charge("k", 1, store.Per(10_000_000, time.Hour))
	spend(t, s, 20000, req.Charges[0].Limit)
	take(t, s, req)
	if n := testing.AllocsPerRun(5000, func() { take(t, s, req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
