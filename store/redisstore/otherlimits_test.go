package redisstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// Decisions say that a key counts under limits that the request does not name.
func TestOtherLimitsAreSeen(t *testing.T) {
	t.Parallel()
	one, two, three := store.Per(10, time.Second), store.Per(20, time.Minute).By(store.SlidingWindow), store.Per(9, time.Hour).By(store.FixedWindow)
	steps := []struct {
		name   string
		limits []store.Limit
		later  time.Duration
		others bool
	}{
		{"a new key", []store.Limit{one}, 0, false},
		{"the same limit", []store.Limit{one}, 0, false},
		{"another limit", []store.Limit{two}, 0, true},
		{"another limit, once the first is as if never used", []store.Limit{two}, time.Second, false},
		{"the first again", []store.Limit{one}, 0, true},
		{"both", []store.Limit{one, two}, 0, false},
		{"both, in another order", []store.Limit{two, one}, 0, false},
		{"a third beside one", []store.Limit{one, three}, 0, true},
		{"all", []store.Limit{one, two, three}, 0, false},
		{"a look at one", []store.Limit{one}, -1, true},
	}
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	for _, way := range []struct {
		name       string
		cancelable bool
	}{{"together", false}, {"alone", true}} {
		for _, step := range steps {
			req := store.Request{Cancelable: way.cancelable}
			for _, l := range step.limits {
				req.Charges = append(req.Charges, store.Charge{Scope: "s", Key: way.name, Limit: l, Cost: 1})
				if step.later < 0 {
					req.Charges[0].Cost = 0
				}
			}
			sleep(max(step.later, 0))
			d, err := s.Take(context.Background(), req)
			if err != nil || d.OtherLimits != step.others {
				t.Errorf("%s, %s: other limits %v (%v), want %v", way.name, step.name, d.OtherLimits, err, step.others)
			}
		}
	}
}

// A call that names a limit again waits for no more than that limit's own units, also if the
// wait ends at the instant at which the limit lapses.
func TestALapsedLimitIsNamedAgain(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, cancelable := range []bool{false, true} {
			take := func(cost int64, l store.Limit) store.Decision {
				key := fmt.Sprint(a, cancelable)
				d, err := s.Take(t.Context(), store.Request{Cancelable: cancelable, Charges: []store.Charge{{Scope: "s", Key: key, Limit: l, Cost: cost}}})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			plan, other := store.Per(10, time.Second).By(a), store.Per(10, time.Minute)
			take(1, plan)
			if d := take(9, other); !d.Allowed {
				t.Fatalf("%v, %v: the other limit refuses: %+v", a, cancelable, d)
			}
			d := take(10, plan)
			if d.Allowed || d.RetryAfter > 2*time.Second {
				t.Fatalf("%v, %v: %+v", a, cancelable, d)
			}
			if sleep(d.RetryAfter); !take(10, plan).Allowed {
				t.Errorf("%v, %v: refused after RetryAfter", a, cancelable)
			}
		}
	}
}
