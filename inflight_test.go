package weir_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

func TestInFlightConfig(t *testing.T) {
	t.Parallel()
	st := newHeldStore(t)
	for name, tt := range map[string]struct {
		cfg   weir.Config
		field string
	}{
		"negative":               {weir.Config{Name: "api", Store: st, InFlight: -1}, "Config.InFlight"},
		"more than there can be": {weir.Config{Name: "api", Store: st, InFlight: store.MaxUnits + 1}, "Config.InFlight"},
		"a store that can't":     {weir.Config{Name: "api", Store: freeStore{}, InFlight: 1}, "Config.InFlight"},
		"a lease without calls":  {weir.Config{Name: "api", Store: st, Lease: time.Second}, "Config.Lease"},
		"a short lease":          {weir.Config{Name: "api", Store: st, InFlight: 1, Lease: time.Second - 1}, "Config.Lease"},
		"a long lease":           {weir.Config{Name: "api", Store: st, InFlight: 1, Lease: store.MaxLease + time.Microsecond}, "Config.Lease"},
		"a lease with half a µs": {weir.Config{Name: "api", Store: st, InFlight: 1, Lease: time.Second + 500}, "Config.Lease"},
		"a negative lease":       {weir.Config{Name: "api", Store: st, InFlight: 1, Lease: -time.Second}, "Config.Lease"},
		"the shortest lease":     {weir.Config{Name: "api", Store: st, InFlight: 1, Lease: time.Second}, ""},
		"the longest lease":      {weir.Config{Name: "longest", Store: st, InFlight: store.MaxUnits, Lease: store.MaxLease}, ""},
		"no lease":               {weir.Config{Name: "api", Store: st, InFlight: 1}, ""},
		"no bound":               {weir.Config{Name: "api", Store: freeStore{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Limits = []weir.Limit{plenty}
			_, err := weir.New(tt.cfg)
			var ce *weir.ConfigError
			if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &ce) || ce.Field != tt.field) {
				t.Errorf("got %v, want a ConfigError of %q", err, tt.field)
			}
		})
	}
}

// Methods whose calls have no end can't be used, and say so.
func TestInFlightNeedsAnEnd(t *testing.T) {
	t.Parallel()
	l := newFlightLimiter(t, newHeldStore(t), 1)
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"Allow":       func() error { _, err := l.Allow(ctx, "k"); return err },
		"AllowLimits": func() error { _, err := l.AllowLimits(ctx, "k", 1, l.Config().Limits); return err },
		"Wait":        func() error { return l.Wait(ctx, "k") },
		"Reserve":     func() error { _, err := l.Reserve(ctx, "k"); return err },
	} {
		if err := call(); !errors.Is(err, weir.ErrUnsupported) || !strings.Contains(err.Error(), "Acquire") {
			t.Errorf("%s: %v, want ErrUnsupported and what to use", name, err)
		}
	}
	if d, err := l.Peek(ctx, "k"); err != nil || d.Remaining != plenty.Rate {
		t.Errorf("Peek: %+v, %v", d, err)
	}
}

// Without InFlight, Acquire waits and releasing means nothing.
func TestAcquireWithoutInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{}
		l := newLimiter(t, s)
		start := time.Now()
		for range 3 {
			lease := acquire(t, l, "k")
			lease.Release()
			lease.Release()
		}
		if took := time.Since(start); took != 20*ms {
			t.Errorf("three calls took %v, want 20ms", took)
		}
		_, err := l.TryAcquire(context.Background(), "k")
		wantKind(t, err, "limited")
		var none *weir.Lease
		none.Release()
		s.check(t, l, 4, 3)
	})
}

// TestOnlyAsManyInFlight: calls of one process enter in order, each with one call of
// the store, and never more than InFlight.
func TestOnlyAsManyInFlight(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1, 3, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				l := newFlightLimiter(t, s, most)
				const calls = 100
				var mu sync.Mutex
				var order []int
				now, peak := int64(0), int64(0)
				var wg sync.WaitGroup
				start := time.Now()
				for i := range calls {
					wg.Go(func() {
						err := l.Do(context.Background(), "k", func(context.Context) error {
							mu.Lock()
							order = append(order, i)
							now++
							peak = max(peak, now)
							mu.Unlock()
							time.Sleep(50 * ms)
							mu.Lock()
							now--
							mu.Unlock()
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					})
					time.Sleep(10 * time.Microsecond)
				}
				wg.Wait()
				took := time.Since(start)
				noFlights(t, l)
				s.wantHeld(t, "k", 0)
				if peak != most {
					t.Errorf("%d in flight at once, want %d", peak, most)
				}
				// Calls that may ask at the same time come back in any order.
				for place, i := range order {
					if off := place - i; off >= int(most) || off <= -int(most) {
						t.Errorf("let in out of order: %v", order)
						break
					}
				}
				if n := s.count("take"); n != calls {
					t.Errorf("%d decisions for %d calls", n, calls)
				}
				if n := s.count("release"); n > calls || most > 3 && n > calls/2 {
					t.Errorf("%d calls of Release for %d calls", n, calls)
				}
				// Two trips for each call that takes another's place.
				if longest := time.Duration((calls+most-1)/most)*(50*ms+3*s.trip) + 10*ms; took > longest {
					t.Errorf("took %v, want at most %v", took, longest)
				}
			})
		})
	}
}

func TestTryAcquire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		other, l := newFlightLimiter(t, s, 2), newFlightLimiter(t, s, 2)
		ctx := context.Background()
		refused := func(when string, takes int) {
			t.Helper()
			before, start := s.count("take"), time.Now()
			_, err := l.TryAcquire(ctx, "k")
			var le *weir.LimitedError
			if !errors.As(err, &le) || le.Reason != weir.ReasonInFlight || boundOf(le) != boundNone || le.RetryAfter <= 0 || le.RetryAfter > 30*time.Second {
				t.Errorf("%s: %#v", when, err)
			}
			if took := time.Since(start); took > s.trip || s.count("take")-before != takes {
				t.Errorf("%s: took %v and %d decisions, want %d", when, took, s.count("take")-before, takes)
			}
		}
		mine, err := l.TryAcquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		theirs := acquire(t, other, "k")
		refused("another process has the last lease", 1)
		theirs.Release()
		time.Sleep(s.trip)
		two, err := l.TryAcquireN(ctx, "k", 0)
		if err != nil {
			t.Fatal(err)
		}
		refused("this process has all leases", 0)
		mine.Release()
		two.Release()
		noFlights(t, l)
		noFlights(t, other)
	})
}

// TestTryAcquireAfterRelease: a call that does not wait gets the place that its process
// released just before, though the store does not know yet. Many such workers get one each.
func TestTryAcquireAfterRelease(t *testing.T) {
	t.Parallel()
	for _, workers := range []int64{1, 7} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				l := newFlightLimiter(t, s, workers)
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for range 20 {
							lease, err := l.TryAcquire(context.Background(), "k")
							if err != nil {
								t.Error(err)
								return
							}
							lease.Release()
						}
					})
				}
				wg.Wait()
				noFlights(t, l)
				s.wantHeld(t, "k", 0)
			})
		})
	}
}

// TestTryAcquireAndASlowRelease: a call that does not wait is refused after 20 ms if a
// released place is not back by then, and waiting calls get that place first.
func TestTryAcquireAndASlowRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		s.away = func(op string) error {
			if op == "release" {
				time.Sleep(time.Second)
			}
			return nil
		}
		l := newFlightLimiter(t, s, 1)
		acquire(t, l, "k").Release()
		refused := func(after time.Duration) {
			t.Helper()
			start := time.Now()
			_, err := l.TryAcquire(context.Background(), "k")
			if wantKind(t, err, "limited"); time.Since(start) != after {
				t.Errorf("refused after %v, want %v", time.Since(start), after)
			}
		}
		refused(20 * ms)
		if waiting, _ := l.Stats(); waiting != 0 {
			t.Errorf("%d calls wait", waiting)
		}
		next := make(chan *weir.Lease)
		go func() { next <- acquire(t, l, "k") }()
		synctest.Wait()
		refused(0)
		(<-next).Release()
		time.Sleep(time.Second)
		noFlights(t, l)
		s.wantHeld(t, "k", 0)
	})
}

// TestTryAcquireOfALateGrant: units of a grant that came too late, with a lease that may
// end, are back.
func TestTryAcquireOfALateGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		var once sync.Once
		s.fault = func(string) error {
			once.Do(func() { time.Sleep(600 * ms) })
			return nil
		}
		l := newFlightLimiter(t, s, 2, func(c *weir.Config) { c.Limits, c.Lease = []weir.Limit{weir.Per(1000, time.Hour)}, time.Second })
		lease, err := l.TryAcquireN(context.Background(), "k", 400)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := l.Peek(context.Background(), "k"); err != nil || d.Remaining != 600 {
			t.Errorf("%d units remain, want 600 (%v)", d.Remaining, err)
		}
		lease.Release()
		noFlights(t, l)
	})
}

// A process stands still while the store's answer with a lease is on its way, for
// longer than the lease lasts. The call does not use the lease.
func TestLeaseThatEndedOnItsWay(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]bool{"Acquire": false, "TryAcquire": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newHeldStore(t)
				l, other := newFlightLimiter(t, st, 1), newFlightLimiter(t, st, 1)
				ctx := context.Background()
				var had *weir.Lease
				stop := func(d store.Decision) {
					st.each = nil
					time.Sleep(30 * time.Second)
					var err error
					if had, err = other.Acquire(ctx, "k"); err != nil {
						t.Fatal(err)
					}
				}
				st.each = stop
				acquire := l.Acquire
				if try {
					acquire = l.TryAcquire
				}
				timed, cancel := context.WithTimeout(ctx, 30*time.Second+time.Second)
				defer cancel()
				if lease, err := acquire(timed, "k"); err == nil {
					t.Errorf("two leases of one place: %v", lease)
				}
				had.Release()
				time.Sleep(time.Second)
				lease, err := acquire(ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				lease.Release()
				time.Sleep(time.Second)
			})
		})
	}
}
