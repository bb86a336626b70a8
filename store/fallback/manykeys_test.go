package fallback_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Redis comes back empty while many keys are in use. Each is restored once, by its first
// call or in the background. No breaker opens again.
func TestEmptyRestartWithManyKeys(t *testing.T) {
	t.Parallel()
	const processes, rate, used = 3, 10, 4
	keys := everywhere(10_000, long.Or(1_000, 500))
	for _, algorithm := range []store.Algorithm{store.GCRA, store.FixedWindow, store.SlidingWindow} {
		for _, quiet := range everywhere([]time.Duration{0, 2 * time.Second}, []time.Duration{0}) {
			t.Run(fmt.Sprintf("%v, no calls for %v", algorithm, quiet), func(t *testing.T) {
				t.Parallel()
				l := store.Per(rate, undisturbed(24*time.Hour)).By(algorithm)
				f := newFleet(t, processes, 0, fallback.Config{Replicas: processes, Budget: patient})
				f.recover()
				admitted := make([]atomic.Int64, keys)
				var local atomic.Int64
				round := func(times int) (commands, scripts int) {
					during := f.server.CommandsDuring(func() {
						var wg sync.WaitGroup
						for c := range 48 {
							wg.Go(func() {
								for i := c; i < keys*times; i += 48 {
									d := take(t, f.stores[(i+i/keys)%processes], charge(fmt.Sprint("k", i%keys), 1, l))
									if d.Allowed {
										admitted[i%keys].Add(1)
									}
									if d.Degraded {
										local.Add(1)
									}
								}
							})
						}
						wg.Wait()
					})
					return sum(during)
				}
				// Every process knows of every key.
				commands, scripts := round(processes)
				round(used - processes)
				f.vanish()
				opened := f.opened.Load()
				before := f.server.Commands()
				time.Sleep(quiet)
				after, _ := sum(f.server.Commands())
				was, _ := sum(before)
				first, firstScripts := round(processes)
				if n := f.opened.Load() - opened; n > 0 || local.Load() > 0 {
					t.Errorf("breakers opened %d times after the return of Redis, %d calls were decided without it", n, local.Load())
				}
				round(2 * processes)
				over, under, most := 0, 0, int64(0)
				for i := range admitted {
					n := admitted[i].Load()
					most = max(most, n)
					if n > rate {
						over++
					} else if n < rate {
						under++
					}
				}
				t.Logf("%d keys: %d commands and %d scripts for all before, %d and %d after the loss, %d without calls", keys, commands, scripts, first, firstScripts, after-was)
				if over > 0 || under > 0 {
					t.Errorf("%d keys of %d a day, %d used before the loss: %d admitted more, up to %d, and %d less", keys, rate, used, over, most, under)
				}
				// Per process and key: the call that finds the loss with many others, a
				// restore with that call again, and perhaps one restore in the
				// background.
				if first > 8*commands {
					t.Errorf("%d commands for %d keys after the loss, %d before it", first, keys, commands)
				}
			})
		}
	}
}
