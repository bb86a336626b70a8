package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store/fallback"
)

// Callers that ask again right after each admission wait all the time, through an outage
// and after it.
func TestLoopsOfWaitersKeepTheirDistance(t *testing.T) {
	t.Parallel()
	long.Only(t)
	for _, outage := range absences {
		for _, processes := range everywhere([]int{2, 4}, []int{2}) {
			for _, callers := range everywhere([]int{20, 300}, []int{20}) {
				t.Run(fmt.Sprintf("%s, %d processes, %d callers", outage.name, processes, callers), func(t *testing.T) {
					t.Parallel()
					calmly(t, func(t testing.TB, watch *stalls) {
						f := newFleet(t, processes, 0, fallback.Config{Replicas: processes})
						f.recover()
						all := f.limiters("spaced", spaced)
						ctx, cancel := context.WithCancel(context.Background())
						var mu sync.Mutex
						arrivals := make([][]time.Time, processes)
						var wg sync.WaitGroup
						for i := range callers {
							wg.Go(func() {
								for ctx.Err() == nil {
									err := all[i%processes].Wait(ctx, "k")
									if ctx.Err() != nil {
										return
									}
									mu.Lock()
									arrivals[i%processes] = append(arrivals[i%processes], time.Now())
									mu.Unlock()
									if err != nil {
										t.Error(err)
									}
								}
							})
						}
						time.Sleep(time.Second)
						outage.begin(f)
						time.Sleep(2 * time.Second)
						outage.end(f)
						time.Sleep(everywhere(12, time.Duration(5)) * time.Second)
						cancel()
						wg.Wait()
						judgeArrivals(t, arrivals, watch)
					})
				})
			}
		}
	}
}
