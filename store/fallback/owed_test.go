package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// The units of an outage may exceed the rest of the limit. The excess is booked ahead,
// and is not free in the next outage.
func TestOwedMoreThanIsLeft(t *testing.T) {
	t.Parallel()
	for _, l := range every(10, 24*time.Hour) {
		for _, replicas := range []int{1, 2} {
			for _, memory := range []bool{true, false} {
				t.Run(fmt.Sprint(l.Algorithm, " replicas ", replicas, " memory ", memory), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						p := newPrimary(t)
						s := open(t, fallback.Config{Primary: p, Replicas: replicas})
						time.Sleep(time.Minute) // No aligned window ends in the test.
						admitted := 0
						spend := func() {
							for range 12 {
								if take(t, s, charge("k", 1, l)).Allowed {
									admitted++
								}
							}
						}
						take(t, s, charge("k", 2, l))
						take(t, p.store, charge("k", 7, l)) // by others
						cycle(t, p, s, spend)
						spend()
						first := admitted
						cycle(t, p, s, func() {
							if !memory {
								p.forget(t)
							}
							spend()
						})
						spend()
						if most := (10 - 2 + replicas - 1) / replicas; first > most {
							t.Errorf("%d admitted in the first outage, want at most %d", first, most)
						}
						if admitted != first {
							t.Errorf("%d admitted in the second outage, want none", admitted-first)
						}
					})
				})
			}
		}
	}
}
