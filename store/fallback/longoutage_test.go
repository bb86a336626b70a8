package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store/fallback"
)

// An outage is longer than a window. Afterwards the primary is charged about the units
// that still count, and in the next outage this process has its share.
func TestOutageLongerThanAWindow(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		for _, replicas := range []int{1, 2} {
			t.Run(fmt.Sprint(l.Algorithm, " replicas ", replicas), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: time.Minute})
					meet(t, s)
					outage := func(hours int) {
						p.set(errAway, 0)
						for range 10 * hours {
							if !take(t, s, charge("k", 1, l)).Allowed {
								t.Fatal("refused in the outage")
							}
							time.Sleep(6 * time.Minute)
						}
						p.set(nil, 0)
						take(t, s, charge("another", 1, l)) // starts probes again
						time.Sleep(2 * time.Minute)
						if used := 100 - take(t, p.store, charge("k", 0, l)).Remaining; used > 20 {
							t.Errorf("the primary counts %d as used, want about 10 of the last hour", used)
						}
					}
					outage(long.Or(20, 4))
					take(t, s, charge("k", 1, l))
					outage(1)
				})
			})
		}
	}
}
