package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A fleet of four, each with its share, keeps the limit.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, l := range append(every(100, time.Second), store.Per(10, time.Second), store.Per(3, time.Second).WithBurst(8), store.Per(2, time.Second).By(store.FixedWindow)) {
		t.Run(fmt.Sprint(l.Algorithm, " ", l), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const replicas, seconds = 4, 30
				admitted := int64(0)
				for range replicas {
					p := newPrimary(t)
					p.set(errAway, 0)
					s := open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: time.Hour})
					start := time.Now()
					for time.Since(start) < seconds*time.Second {
						if take(t, s, charge("k", 1, l)).Allowed {
							admitted++
						}
						time.Sleep(long.Or(time.Millisecond, 5*time.Millisecond))
					}
				}
				promise := seconds*l.Rate + l.Max() + replicas*max(l.Max()/replicas, 1)
				floor := seconds * l.Rate * 9 / 10
				if l.Algorithm == store.SlidingCounter {
					floor = seconds * l.Rate * 8 / 10
				}
				if admitted > promise || admitted < floor {
					t.Errorf("%d admitted in %d s, want %d to %d", admitted, seconds, floor, promise)
				}
			})
		})
	}
}
