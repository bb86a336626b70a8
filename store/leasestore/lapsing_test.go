package leasestore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/redisstore"
)

// Units that come back within For are taken ahead from the fifth call on, in growing
// numbers, and never with a receipt.
func TestUnitsThatLapse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit store.Limit
		units int64
		calls int
		every time.Duration
		takes int64
	}{
		"eight at once":                     {store.Per(10_000, time.Second), 0, 8, 0, 5},
		"8 times as many after those":       {store.Per(10_000, time.Second), 0, 8 + 32, 0, 6},
		"and so on":                         {store.Per(10_000, time.Second), 0, 8 + 32 + 256, 0, 7},
		"at most an eighth of the limit":    {store.Per(1000, time.Second), 0, 8 + 32 + 64 + 64 + 1, 0, 9},
		"at most a quarter of what returns": {store.Per(64, time.Second).WithBurst(1000), 0, 8 + 16 + 1, 0, 7},
		"seven a second":                    {store.Per(1000, time.Second), 0, 70, time.Second / 7, 23},
		"five a second":                     {store.Per(1000, time.Second), 0, 70, time.Second / 5, 70},
		"few units":                         {store.Per(1000, time.Second), 2, 20, 0, 11},
		"just enough come back":             {store.Per(16, time.Second).WithBurst(32), 0, 8, 0, 5},
		"too few come back":                 {store.Per(15, time.Second).WithBurst(255), 0, 100, 0, 100},
		"a limit that is too small":         {store.Per(16, time.Second).WithBurst(31), 0, 31, 0, 31},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if n, back := paced(t, c.units, c.calls, c.every, c.limit); n != c.takes || back != 0 {
					t.Errorf("%d calls of the store, %d that gave back, want %d and none", n, back, c.takes)
				}
			})
		})
	}
}

// Unused units are free again after their time, for every caller.
func TestWhatLapsesIsThereAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: b})
		defer done(t, s)
		l := store.Per(100, time.Second)
		for range 10 {
			spend(t, s, 6, l)
			if left := take(t, b, charge("k", 0, l)).Remaining; left >= 94 {
				t.Fatalf("nothing was taken ahead: %d left", left)
			}
			time.Sleep(leasestore.DefaultFor)
			if left := take(t, b, charge("k", 0, l)).Remaining; left != 100 {
				t.Fatalf("%d of 100 left", left)
			}
			time.Sleep(time.Minute)
		}
	})
}

// Units have a receipt, and are given back, if more of a bucket is used than comes back
// within For.
func TestDeepBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: b})
		defer done(t, s)
		l := store.Per(100, time.Second).WithBurst(100_000)
		take(t, b, charge("k", 1000, l)) // ten seconds of its refill
		if n := spend(t, s, 40, l); n != 40 {
			t.Fatalf("%d admitted of 40", n)
		}
		if left := take(t, b, charge("k", 0, l)).Remaining; left > 98_950 {
			t.Fatalf("nothing was taken ahead: %d left", left)
		}
		time.Sleep(leasestore.DefaultFor)
		synctest.Wait()
		if left := take(t, b, charge("k", 0, l)).Remaining; left != 100_000-1040+100 {
			t.Errorf("%d left", left)
		}
		was := b.settles.Load()
		time.Sleep(time.Minute)
		spend(t, s, 8, l)
		time.Sleep(2 * leasestore.DefaultFor)
		if was == 0 || b.settles.Load() != was {
			t.Errorf("%d calls gave back, and %d when all had come back", was, b.settles.Load()-was)
		}
	})
}

// Units of a key that other processes use up near its limit are neither charged nor
// admitted twice.
func TestLapsingProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		l := store.Per(200, time.Second).WithBurst(400)
		var admitted atomic.Int64
		const lasts = 20
		for range 4 {
			s := open(t, leasestore.Config{Store: b})
			defer done(t, s)
			for range 4 {
				go func() {
					for start := time.Now(); time.Since(start) < lasts*time.Second; time.Sleep(10 * time.Millisecond) {
						if take(t, s, charge("k", 1, l)).Allowed {
							admitted.Add(1)
						}
					}
				}()
			}
		}
		time.Sleep(lasts*time.Second + time.Millisecond)
		// All ask for 1600 a second, eight times the limit.
		n, most := admitted.Load(), int64(400+lasts*200)
		if n > most || n < most*95/100 {
			t.Errorf("%d admitted of %d", n, most)
		}
	})
}

// Idle keys make room for others, with or without unused units.
func TestIdleKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]store.Limit{
		"units that lapse":          store.Per(10_000, time.Second),
		"units that are kept":       store.Per(10_000, time.Second).By(store.FixedWindow),
		"units that are given back": store.Per(1_000_000, time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				s := open(t, leasestore.Config{Store: b})
				s.SetRoom(1)
				defer done(t, s)
				use := func(prefix string, keys, calls int) {
					for _, key := range customers(keys) {
						for range calls {
							take(t, s, charge(prefix+key, 1, l))
						}
					}
				}
				use("old ", 2000, 42)
				time.Sleep(time.Hour)
				was := b.takes.Load()
				for range 20 {
					use("new ", 20, 100)
					time.Sleep(10 * time.Second)
				}
				if n := b.takes.Load() - was; n > 30_000 {
					t.Errorf("%d calls of the store for 40000 decisions", n)
				}
			})
		})
	}
}

// Unused units count for a call that needs more than these. They stay for others if the
// call is refused.
func TestUnitsThatLieHereCount(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]store.Limit{
		"units that lapse":          store.Per(1000, time.Second),
		"units of a window":         store.Per(1000, 10*time.Second).By(store.FixedWindow),
		"units that are given back": store.Per(1000, 100*time.Second),
	} {
		for _, small := range []int{8, 41, 100} {
			t.Run(fmt.Sprint(name, ", after ", small), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBehind(t)
					s := open(t, leasestore.Config{Store: b})
					defer done(t, s)
					spend(t, s, small, l)
					left := l.Max() - int64(small)
					if d := take(t, s, charge("k", l.Max()+1, l)); d.Reason != store.ReasonNeverFits {
						t.Errorf("more than the limit: %+v", d)
					}
					if d := take(t, s, charge("k", left+1, l)); d.Allowed || d.Remaining != left {
						t.Errorf("one more than there are: %+v, want %d left", d, left)
					}
					if d := take(t, s, charge("k", left, l)); !d.Allowed || d.Remaining != 0 {
						t.Errorf("all there are: %+v", d)
					}
					if d := take(t, s, charge("k", 1, l)); d.Allowed {
						t.Errorf("one more: %+v", d)
					}
				})
			})
		}
	}
}

// A call over any of a key's limits leaves the unused units for others.
func TestCallThatNeverFits(t *testing.T) {
	t.Parallel()
	hour, day := store.Per(1000, time.Hour).By(store.FixedWindow), store.Per(5000, 24*time.Hour).By(store.FixedWindow)
	for name, limits := range map[string][]store.Limit{"the first limit": {hour, day}, "the second limit": {day, hour}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, leasestore.Config{Store: newBehind(t)})
				defer done(t, s)
				for range 40 {
					take(t, s, charge("k", 1, limits...))
				}
				if d := take(t, s, charge("k", 1001, limits...)); d.Reason != store.ReasonNeverFits {
					t.Errorf("over a limit: %+v", d)
				}
				if d := take(t, s, charge("k", 1, limits...)); d.Source != store.SourceLease {
					t.Errorf("the next call: %+v", d)
				}
			})
		})
	}
}

// No more units remain than the limit has, though units that lie here may have come back.
func TestRemainingIsWithinTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: away{b, 2 * time.Millisecond}})
		defer done(t, s)
		l := store.Per(1000, time.Second)
		spend(t, s, 5, l)
		time.Sleep(leasestore.DefaultFor / 2)
		take(t, b, charge("k", 4, l))
		if d := take(t, s, charge("k", 1000, l)); d.Allowed || d.Remaining != 1000 {
			t.Errorf("%+v, want a refusal, and 1000 units left", d)
		}
	})
}

// A refused call that waits for RetryAfter succeeds, also if the units that lay here lapse
// before that.
func TestRetryAfterBesideUnitsThatLapse(t *testing.T) {
	t.Parallel()
	for name, life := range map[string]time.Duration{
		"they lapse before that": 20 * time.Millisecond,
		"they lapse later":       time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				l := store.Per(1000, time.Second)
				s := open(t, leasestore.Config{Store: b, For: life})
				defer done(t, s)
				spend(t, s, 5, l)
				if _, err := b.Take(t.Context(), charge("k", 500, l)); err != nil {
					t.Fatal(err)
				}
				d := take(t, s, charge("k", 1000, l))
				if d.Allowed || d.RetryAfter > 508*time.Millisecond || d.Remaining != 495 {
					t.Fatalf("%+v, want a refusal for 508 ms at most, and 495 units left", d)
				}
				time.Sleep(d.RetryAfter)
				if d := take(t, s, charge("k", 1000, l)); !d.Allowed {
					t.Errorf("after RetryAfter: %+v", d)
				}
			})
		})
	}
}

// After a change of limits, and after a reset, a key counts as idle.
func TestLapsingChanges(t *testing.T) {
	t.Parallel()
	deep, other := store.Per(100, time.Second).WithBurst(1_000_000), store.Per(10_000, time.Second)
	for name, c := range map[string]struct {
		limit  store.Limit
		change func(s *leasestore.Store, b *behind) error
	}{
		"a reset":       {deep, func(s *leasestore.Store, _ *behind) error { return s.Reset(context.Background(), "api", "k") }},
		"another limit": {other, func(_ *leasestore.Store, b *behind) error { return b.Reset(context.Background(), "api", "k") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t)
				s := open(t, leasestore.Config{Store: b})
				defer done(t, s)
				take(t, b, charge("k", 500_000, deep)) // It takes hours to come back.
				spend(t, s, 100, deep)
				time.Sleep(10 * time.Second)
				if err := c.change(s, b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				was, gave := b.takes.Load(), b.settles.Load()
				spend(t, s, 8, c.limit)
				if n := b.takes.Load() - was; n != 5 || b.settles.Load() != gave {
					t.Errorf("%d calls of the store for 8 units, %d that gave back, want 5 and none", n, b.settles.Load()-gave)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: b})
		defer done(t, s)
		spend(t, s, 130, other)
		half := store.Per(5000, time.Second)
		left := take(t, b, charge("k", 0, half)).Remaining
		spend(t, s, 1, half)
		if now := take(t, b, charge("k", 0, half)).Remaining; now < left-1 {
			t.Errorf("the first call under another limit took %d units", left-now)
		}
	})
}

// TestLapsingOverRedis: calls that take units ahead of many keys share round trips.
func TestLapsingOverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	inner, err := redisstore.New(redisstore.Config{Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, leasestore.Config{Store: inner, For: 10 * time.Second})
	defer done(t, s)
	l := limiter(t, s, weir.PerSecond(1_000_000))
	names := customers(200)
	for range 20_000 / len(names) {
		for _, name := range names {
			if d, err := l.Allow(context.Background(), name); err != nil || !d.Allowed {
				t.Fatal(d, err)
			}
		}
	}
	if n := server.Commands()["evalsha"]; n > 200*10 {
		t.Errorf("%d script calls for 20000 decisions", n)
	}
}
