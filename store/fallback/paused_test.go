package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A key is paused when the primary goes away. After the pause it has its rest from
// before: a pause uses no units.
func TestPausedAsThePrimaryGoes(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, 24*time.Hour) {
		for _, cost := range []int64{0, 1} {
			t.Run(fmt.Sprint(l.Algorithm, " cost ", cost), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					time.Sleep(time.Minute)
					take(t, s, charge("k", 1, l))
					pause(t, s, 10*time.Second, charge("k", 0, l).Charges...)
					take(t, s, charge("k", cost, l))
					lose(t, p, s)
					if d := take(t, s, charge("k", 1, l)); d.Allowed {
						t.Errorf("admitted in the pause: %+v", d)
					}
					time.Sleep(11 * time.Second)
					if n := admitted(t, s, charge("k", 1, l)); n < 98 || n > 99 {
						t.Errorf("%d admitted after the pause, 99 of the day's 100 are left", n)
					}
				})
			})
		}
	}
}

// The primary tells of a pause of the wider level. In an outage the pause holds for that
// level and all its limits, not for the narrow level.
func TestPauseOfOneLevelAsThePrimaryGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		user := store.Charge{Scope: "user", Key: "u", Limit: store.Per(100, time.Minute), Cost: 1}
		org := store.Charge{Scope: "org", Key: "o", Limit: store.Per(1000, time.Minute), Cost: 1}
		day := store.Charge{Scope: "org", Key: "o", Limit: store.Per(10, 24*time.Hour).By(store.FixedWindow), Cost: 1}
		take(t, s, store.Request{Charges: []store.Charge{user, org, day}})
		pause(t, p.store, time.Minute, org, day)
		take(t, s, store.Request{Charges: []store.Charge{user, org, day}})
		lose(t, p, s)
		if d := take(t, s, store.Request{Charges: []store.Charge{user}}); !d.Allowed {
			t.Errorf("the user is refused for %s without a pause: %v", d.RetryAfter, d.Reason)
		}
		user.Key = "another"
		if d := take(t, s, store.Request{Charges: []store.Charge{user, org, day}}); d.Allowed || d.Reason != store.ReasonPaused {
			t.Errorf("the organisation is paused, and another of its users is admitted: %+v", d)
		}
		time.Sleep(time.Minute + time.Second)
		if n := admitted(t, s, store.Request{Charges: []store.Charge{org, day}}); n != 9 {
			t.Errorf("%d admitted after the pause, 9 of the day's 10 are left", n)
		}
	})
}

func pause(t testing.TB, s store.Braker, d time.Duration, charges ...store.Charge) {
	t.Helper()
	if err := s.Brake(context.Background(), charges, store.Brake{Pause: d}); err != nil {
		t.Fatal(err)
	}
}

// lose takes the primary away, and waits until the breaker is open.
func lose(t testing.TB, p *primary, s *fallback.Store) {
	t.Helper()
	p.set(errAway, 0)
	for range 3 {
		take(t, s, charge("another", 1, store.Per(1000, time.Second)))
	}
}

// admitted repeats a call until it is refused, and returns how many were admitted.
func admitted(t testing.TB, s store.Store, req store.Request) (n int) {
	t.Helper()
	for take(t, s, req).Allowed {
		n++
	}
	return n
}

// Units of an outage are charged to a primary that has paused the key. They stay charged
// when the pause is extended or lifted.
func TestOwedToAPausedPrimary(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		for name, change := range map[string]store.Brake{"longer": {Pause: 20 * time.Second}, "lifted": {Lift: true}, "as it was": {}} {
			t.Run(fmt.Sprint(l.Algorithm, " ", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					time.Sleep(time.Minute)
					take(t, s, charge("k", 0, l))
					cycle(t, p, s, func() {
						for range 50 {
							take(t, s, charge("k", 1, l))
						}
						pause(t, p.store, 10*time.Second, charge("k", 0, l).Charges...) // by another process
					})
					for range 3 {
						if d := take(t, s, charge("k", 1, l)); d.Allowed || d.Degraded {
							t.Errorf("in the pause: %+v", d)
						}
					}
					time.Sleep(time.Second)
					if err := s.Brake(context.Background(), charge("k", 0, l).Charges, change); err != nil {
						t.Error(err)
					}
					time.Sleep(30 * time.Second)
					if n := admitted(t, s, charge("k", 1, l)); n < 49 || n > 51 {
						t.Errorf("%d admitted after the pause, 50 of the hour's 100 are left", n)
					}
				})
			})
		}
	}
}

// The primary has paused a key, and is charged units for it. No call waits for that.
func TestManyCallsOfAPausedKeyThatOwes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		l := store.Per(100, time.Hour)
		cycle(t, p, s, func() {
			take(t, s, charge("k", 50, l))
			pause(t, p.store, 10*time.Second, charge("k", 0, l).Charges...)
		})
		p.set(nil, 10*time.Millisecond)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				if d := take(t, s, charge("k", 1, l)); d.Allowed || d.Degraded {
					t.Errorf("in the pause: %+v", d)
				}
			})
		}
		calls.Wait()
		if s.State() != fallback.StateClosed {
			t.Errorf("the breaker is %v", s.State())
		}
	})
}

// A call costs more than the share holds, and a pause of its key follows. The pause ends or
// is lifted, before the primary's return or after it. The primary is charged the full cost.
func TestOverTheShareIsOwedAfterAPause(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		for _, length := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			t.Run(fmt.Sprint(l.Algorithm, " paused for ", length), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p, Replicas: 10})
					time.Sleep(time.Minute)
					take(t, s, charge("k", 0, l))
					cycle(t, p, s, func() {
						take(t, s, charge("k", 60, l))
						pause(t, s, length, charge("k", 0, l).Charges...)
					})
					take(t, s, charge("k", 1, l))
					time.Sleep(5 * time.Second)
					if err := s.Brake(context.Background(), charge("k", 0, l).Charges, store.Brake{Lift: true}); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
					if d := take(t, s, charge("k", 0, l)); d.Remaining < 38 || d.Remaining > 50 {
						t.Errorf("%d of 100 are left after a call of 60, want about 40", d.Remaining)
					}
				})
			})
		}
	}
}
