package fallback_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A process starts far from Redis. Redis decides its first calls too: connecting takes
// several round trips, which the budget does not count.
func TestStartFarFromRedis(t *testing.T) {
	if long.Race {
		t.Skip("with the race detector calls take longer than their budget")
	}
	server := redistest.Start(t)
	const calls, budget, farthest = 36, 50 * time.Millisecond, 80 * time.Millisecond
	for _, rtt := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		for _, configured := range []bool{true, false} {
			for _, callers := range []int{1, calls} {
				// One after the other, 36 answers of 40 ms each miss the budget of 50 ms
				// if the machine is late once.
				if callers == 1 && rtt > long.Or(20, time.Duration(10))*time.Millisecond {
					continue
				}
				t.Run(fmt.Sprintf("RTT %v, client configured: %v, %d callers", rtt, configured, callers), func(t *testing.T) {
					watch := watchStalls(t)
					local, slower := calls, time.Duration(1)
					for tries, end := 0, time.Now().Add(forCalm); local > 0 && (tries < 5 || time.Now().Before(end)); tries++ {
						start := time.Now()
						local = startsFar(t, server, slower*rtt, slower*budget, configured, callers, calls)
						// A stall of the machine uses up the rest of the budget, unless round
						// trip and budget are longer.
						if local > 0 && slower*rtt < farthest && watch.longest(start, time.Now()) > 10*time.Millisecond {
							slower *= 2
						}
					}
					t.Logf("%d of %d calls decided without Redis, with %d times the RTT and the budget", local, calls, slower)
					if local > 0 {
						t.Errorf("RTT %v: %d of the first %d calls are decided without Redis, want none", slower*rtt, local, calls)
					}
				})
			}
		}
	}
}

// startsFar starts a process that makes calls. It returns the number of those that are
// decided without Redis.
func startsFar(t *testing.T, server *redistest.Server, rtt, budget time.Duration, configured bool, callers, calls int) int {
	f := fleetOver(t, server, 0, rtt, fallback.Config{})
	limit := store.Per(1_000_000, time.Hour)
	take(t, f.direct(), charge("warm", 1, limit)) // Other processes have loaded the script.
	o := &redis.Options{}
	configure(f.proxy.Addr, configured)(o)
	client := redis.NewClient(o)
	defer client.Close()
	s := f.over(client, fallback.Config{Budget: budget})
	var n atomic.Int64
	together(callers, func(i int) {
		for range calls / callers {
			if take(t, s, charge(fmt.Sprint("k", i), 1, limit)).Degraded {
				n.Add(1)
			}
		}
	})
	return int(n.Load())
}
