package fallback_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/fallback"
)

// Processes together admit more than the limit, as with the default Replicas. On the
// primary's return these units fill the limit to the brim, and block the key for one
// window at most.
func TestOutageBlocksForOneWindowAtMost(t *testing.T) {
	t.Parallel()
	const processes, rate = 4, 100
	outage := long.Or(3*time.Second, 500*time.Millisecond)
	for _, replicas := range []int{0, processes} {
		for _, memory := range []bool{true, false} {
			t.Run(fmt.Sprintf("Replicas %d, memory survives: %v", replicas, memory), func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				period := undisturbed(time.Hour)
				limits := every(rate, period)
				f := newFleet(t, processes, 0, fallback.Config{Replicas: replicas, Budget: patient})
				f.recover()
				f.proxy.Set(redistest.Refuse)
				f.notice()
				admitted := make([]atomic.Int64, len(limits))
				ask := func(i, times int) {
					n := i % len(limits)
					one := f.limiters(limits[n].Algorithm.String(), limits[n])[i/len(limits)]
					for range times {
						if allow(t, one, "k").Allowed {
							admitted[n].Add(1)
						}
					}
				}
				together(processes*len(limits), func(i int) { ask(i, rate+20) })
				time.Sleep(outage)
				if !memory {
					f.server.Restart()
				}
				f.proxy.Set(f.well)
				f.recover()
				local := make([]int64, len(limits))
				for n := range limits {
					local[n] = admitted[n].Load()
				}
				together(processes*len(limits), func(i int) { ask(i, 1) })
				time.Sleep(100 * time.Millisecond) // for restores in the background
				for n, l := range limits {
					used := f.used(l.Algorithm.String(), "k", l)
					wait := f.blocked(l.Algorithm.String(), "k", l)
					t.Logf("%v: %d admitted of %d in the outage, blocked for %v afterwards", l.Algorithm, local[n], rate, wait)
					if wait > longestBlock(l) {
						t.Errorf("%v: blocked for %v after %d of %d were admitted, want at most the window, %v", l.Algorithm, wait, local[n], rate, period)
					}
					if want := min(rate, local[n]) - dripped(l, start) - 1; used < want {
						t.Errorf("%v: %d of %d are used after %d were admitted, want %d or more", l.Algorithm, used, rate, local[n], want)
					}
				}
			})
		}
	}
}
