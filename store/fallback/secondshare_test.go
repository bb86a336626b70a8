package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// A process knows a state of Redis to which other processes have not added their units yet.
// In a second outage it still knows that its own share is used up.
func TestSecondOutageGrantsNoSecondShare(t *testing.T) {
	t.Parallel()
	const rate, replicas = 100, 4
	for _, l := range every(rate, 100*24*time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				var stores []*fallback.Store
				for range replicas {
					stores = append(stores, open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: 100 * time.Millisecond}))
				}
				time.Sleep(24 * time.Hour) // No aligned window ends in the test.
				for _, s := range stores {
					meet(t, s)
				}
				admitted := 0
				for range 5 {
					p.set(errAway, 0)
					for _, s := range stores {
						for take(t, s, charge("k", 1, l)).Allowed {
							admitted++
						}
					}
					p.set(nil, 0)
					time.Sleep(5 * time.Second) // The units of each process follow in the background.
				}
				t.Logf("%d admitted of %d", admitted, rate)
				if admitted > rate+replicas {
					t.Errorf("%d admitted of %d", admitted, rate)
				}
			})
		})
	}
}
