package fallback_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A process starts far from Redis. Redis decides its first calls too: connecting takes
// several round trips, which the budget does not count.
func TestStartFarFromRedis(t *testing.T) {
	if long.Race {
		t.Skip("with the race detector calls take longer than their budget")
	}
	t.Parallel()
	const calls = 36
	for _, rtt := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		for _, configured := range []bool{true, false} {
			for _, callers := range []int{1, calls} {
				// One after the other, 36 answers of 40 ms each miss the budget of 50 ms
				// if the machine is late once.
				if callers == 1 && rtt > long.Or(20, time.Duration(10))*time.Millisecond {
					continue
				}
				t.Run(fmt.Sprintf("RTT %v, client configured: %v, %d callers", rtt, configured, callers), func(t *testing.T) {
					t.Parallel()
					f := newFleet(t, 0, rtt, fallback.Config{})
					limit := store.Per(1_000_000, time.Hour)
					take(t, f.direct(), charge("warm", 1, limit)) // Other processes have loaded the script.
					// A stall of the machine uses up the rest of the budget. The best
					// start has none.
					local, took := calls, time.Duration(0)
					for tries, end := 0, time.Now().Add(forCalm); tries < 5 || time.Now().Before(end); tries++ {
						o := &redis.Options{Addr: f.proxy.Addr}
						configure(o.Addr, configured)(o)
						client := redis.NewClient(o)
						s := f.over(client, fallback.Config{})
						var n atomic.Int64
						start := time.Now()
						together(callers, func(i int) {
							for range calls / callers {
								if take(t, s, charge(fmt.Sprint("k", i), 1, limit)).Degraded {
									n.Add(1)
								}
							}
						})
						if int(n.Load()) <= local {
							local, took = int(n.Load()), time.Since(start)
						}
						client.Close()
						if local == 0 {
							break
						}
					}
					t.Logf("%d of %d calls decided without Redis, in %v", local, calls, took.Round(time.Millisecond))
					if local > 0 {
						t.Errorf("RTT %v: %d of the first %d calls are decided without Redis, want none", rtt, local, calls)
					}
				})
			}
		}
	}
}
