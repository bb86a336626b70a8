package redisstore

import (
	"context"
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
