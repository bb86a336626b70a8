package localstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// TestFirstOfNLeavesOneLess checks every usual rate. Arithmetic that loses a bit of today's
// date reports one unit less for some.
func TestFirstOfNLeavesOneLess(t *testing.T) {
	t.Parallel()
	for _, year := range []int{2000, 2026, 2100} {
		t.Run(fmt.Sprint(year), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(year, 7, 14, 15, 9, 26, 535_897_000, time.UTC)))
				s := open(t)
				for _, period := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
					for n := int64(1); n <= 1000; n++ {
						for a := store.GCRA; a <= store.AlignedWindow; a++ {
							l := store.Per(n, period).By(a)
							if d := take(t, s, charge(fmt.Sprint(a, l), 1, l)); !d.Allowed || d.Remaining != n-1 {
								t.Fatalf("%v %v: %+v, want %d remaining", a, l, d, n-1)
							}
						}
					}
				}
			})
		})
	}
}
