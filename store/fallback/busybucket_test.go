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

// A busy bucket has no fresh burst after an outage, however long it was, and whether or
// not the primary kept its memory.
func TestBusyBucketAfterAnOutage(t *testing.T) {
	t.Parallel()
	const rate, burst = 10, 50
	outages := long.Or(5, 3)
	for _, replicas := range []int{1, 4} {
		for _, memory := range []bool{true, false} {
			for _, away := range []time.Duration{time.Second, 20 * time.Second} {
				t.Run(fmt.Sprint(replicas, " replicas, memory ", memory, ", away ", away), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						p := newPrimary(t)
						var stores []*fallback.Store
						for range replicas {
							stores = append(stores, open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: 200 * time.Millisecond}))
						}
						l := store.Per(rate, time.Second).WithBurst(burst)
						admitted, start := 0, time.Now()
						call := func(d time.Duration) {
							for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
								for _, s := range stores {
									if take(t, s, charge("k", 1, l)).Allowed {
										admitted++
									}
								}
							}
						}
						call(10 * time.Second)
						for range outages {
							p.set(errAway, 0)
							call(away)
							if !memory {
								p.forget(t)
							}
							p.set(nil, 0)
							call(5 * time.Second)
						}
						// Processes find the primary one after the other. The first one
						// has the others' share meanwhile, and each keeps a unit.
						most := burst + int(time.Since(start).Seconds()*rate) + outages*replicas*6
						if admitted > most {
							t.Errorf("%d admitted in %v, want at most %d", admitted, time.Since(start), most)
						}
						time.Sleep(5 * time.Second)
					})
				})
			}
		}
	}
}
