package fallback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Redis refuses connections. Until this process decides by itself, all calls together
// wait 5 ms at most.
func TestRefusedConnectionsHoldUpNobody(t *testing.T) {
	t.Parallel()
	for _, configured := range []bool{true, false} {
		for _, connected := range []bool{true, false} {
			t.Run(fmt.Sprintf("client configured: %v, connected before: %v", configured, connected), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, 0, 0, fallback.Config{})
				// go-redis by default dials five times, with pauses, before it fails.
				most := 500 * time.Millisecond
				if configured {
					most = 5 * time.Millisecond
				}
				// The quickest of several rounds is free of stalls of the machine.
				best, calls, rounds := time.Hour, 0, 0
				for ; rounds < 8 || best > most && rounds < 80; rounds++ {
					f.proxy.Set(redistest.Pass)
					o := &redis.Options{Addr: f.proxy.Addr}
					configure(o.Addr, configured)(o)
					client := redis.NewClient(o)
					s := f.over(client, fallback.Config{})
					f.stores = []*fallback.Store{s}
					if connected {
						f.recover()
					}
					f.proxy.Set(redistest.Refuse)
					req := charge("k", 1, store.Per(1_000_000, time.Hour))
					var all time.Duration
					n := 0
					for start := time.Now(); s.State() == fallback.StateClosed && time.Since(start) < time.Second; n++ {
						start := time.Now()
						if d := take(t, s, req); !d.Degraded {
							t.Errorf("call %d is decided by a Redis that refuses connections", n)
						}
						all += time.Since(start)
						time.Sleep(time.Millisecond)
					}
					if s.State() == fallback.StateClosed {
						t.Errorf("the breaker is closed after %d calls", n)
					}
					if all < best {
						best, calls = all, n
					}
					client.Close()
				}
				t.Logf("%d calls took %v until the breaker opened, in the best of %d rounds", calls, best, rounds)
				if best > most {
					t.Errorf("%d calls took %v in all until the breaker opened, want at most %v, in the best of %d rounds", calls, best, most, rounds)
				}
			})
		}
	}
}
