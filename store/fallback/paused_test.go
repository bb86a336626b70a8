package fallback_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
)

// A key that was paused when the primary went away has, after the pause, what was left
// before it: that a pause leaves nothing does not mean that all is used.
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

// A pause of the wider level that the primary told of holds in an outage for that
// level, all its limits, and not for the narrow one.
func TestPauseOfOneLevelAsThePrimaryGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		user := weir.Charge{Scope: "user", Key: "u", Limit: weir.PerMinute(100), Cost: 1}
		org := weir.Charge{Scope: "org", Key: "o", Limit: weir.PerMinute(1000), Cost: 1}
		day := weir.Charge{Scope: "org", Key: "o", Limit: weir.PerDay(10).By(weir.FixedWindow), Cost: 1}
		take(t, s, weir.Request{Charges: []weir.Charge{user, org, day}})
		pause(t, p.store, time.Minute, org, day)
		take(t, s, weir.Request{Charges: []weir.Charge{user, org, day}})
		lose(t, p, s)
		if d := take(t, s, weir.Request{Charges: []weir.Charge{user}}); !d.Allowed {
			t.Errorf("the user is not paused, and is refused for %s: %v", d.RetryAfter, d.Reason)
		}
		user.Key = "another"
		if d := take(t, s, weir.Request{Charges: []weir.Charge{user, org, day}}); d.Allowed || d.Reason != weir.Paused {
			t.Errorf("the organisation is paused, and another of its users is admitted: %+v", d)
		}
		time.Sleep(time.Minute + time.Second)
		if n := admitted(t, s, weir.Request{Charges: []weir.Charge{org, day}}); n != 9 {
			t.Errorf("%d admitted after the pause, 9 of the day's 10 are left", n)
		}
	})
}

func pause(t testing.TB, s weir.Braker, d time.Duration, charges ...weir.Charge) {
	t.Helper()
	if err := s.Brake(context.Background(), charges, weir.Brake{Pause: d}); err != nil {
		t.Fatal(err)
	}
}

// lose takes the primary away, until the breaker is open.
func lose(t testing.TB, p *primary, s *fallback.Store) {
	t.Helper()
	p.set(errAway, 0)
	for range 3 {
		take(t, s, charge("another", 1, weir.PerSecond(1000)))
	}
}

// admitted makes a call again and again until it is refused, and returns how often
// it was admitted.
func admitted(t testing.TB, s weir.Store, req weir.Request) (n int) {
	t.Helper()
	for take(t, s, req).Allowed {
		n++
	}
	return n
}
