package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// withoutClock takes the instants off a primary's decisions.
func withoutClock(p *primary) store.Store {
	return storeFunc(func(req store.Request) (store.Decision, error) {
		d, err := p.Take(context.Background(), req)
		d.At = 0
		return d, err
	})
}

// A primary without a clock, and without a memory of losses, is charged the spent units
// that still count.
func TestPrimaryWithoutAClock(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: withoutClock(p)})
				meet(t, s)
				time.Sleep(time.Minute)
				cycle(t, p, s, func() { take(t, s, charge("k", 5, l)) })
				if used := 100 - take(t, p.store, charge("k", 0, l)).Remaining; used != 5 {
					t.Errorf("%d used, want 5", used)
				}
			})
		})
	}
}

// Without a clock of the primary, too, the local store starts from its last answer.
func TestNoSecondLimitWithoutAClock(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: withoutClock(p)})
				meet(t, s)
				take(t, s, charge("k", 80, l))
				p.set(errAway, 0)
				if d := take(t, s, charge("k", 21, l)); d.Allowed {
					t.Errorf("101 of 100 units: %+v", d)
				}
				if d := take(t, s, charge("k", 20, l)); !d.Allowed || !d.Degraded {
					t.Errorf("100 of 100 units: %+v", d)
				}
			})
		})
	}
}
