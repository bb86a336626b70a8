package redisstore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestSeveralBatchesOfAKey: with several batches of one key under way, on pools of few
// connections too, no more is admitted than the limit allows. A remembered refusal ends
// no later than the server's own.
func TestSeveralBatchesOfAKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, c := range []struct{ trips, pool int }{{0, 1}, {1, 1}, {3, 2}, {16, 4}, {16, 32}} {
		t.Run(fmt.Sprintf("%d round trips, %d connections", c.trips, c.pool), func(t *testing.T) {
			t.Parallel()
			const stores, callers, calls, units = 2, 24, 60, 40
			limit := store.Per(100, time.Second).WithBurst(units)
			prefix := fmt.Sprintf("several%d/%d:", c.trips, c.pool)
			direct, err := New(Config{Client: server.Client(), Prefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			type taken struct {
				at   store.Instant
				cost int64
			}
			var mu sync.Mutex
			var all []taken
			var admitted, denied int
			note := func(d store.Decision, cost int64) {
				mu.Lock()
				defer mu.Unlock()
				if d.Allowed {
					all = append(all, taken{d.At, cost})
					admitted++
				} else if d.Source == store.SourceDenyCache {
					denied++
				}
				if d.Remaining < 0 || d.Remaining > units || d.RetryAfter < 0 || d.ResetAfter < 0 {
					t.Errorf("%+v", d)
				}
			}
			// On a busy machine more calls are needed until some meet a remembered refusal.
			start := time.Now()
			few := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return (admitted < 10 || denied < 10) && time.Since(start) < 30*time.Second
			}
			var wg sync.WaitGroup
			for n := range stores {
				client := server.Client(func(o *redis.Options) { o.PoolSize = c.pool })
				s, err := New(Config{Client: client, Prefix: prefix, RoundTrips: c.trips})
				if err != nil {
					t.Fatal(err)
				}
				for i := range callers {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(n), uint64(i)))
						for i := 0; i < calls || few(); i++ {
							cost := [...]int64{1, units / 2, units}[rng.IntN(3)]
							d, err := s.Take(t.Context(), charge("key", cost, limit))
							if err != nil {
								t.Error(err)
								return
							}
							if note(d, cost); d.Source != store.SourceDenyCache {
								continue
							}
							now, err := direct.takeAlone(t.Context(), new(charge("key", cost, limit)))
							if err != nil {
								t.Error(err)
								return
							}
							note(now, cost)
							if ends := d.At + store.Instant(d.RetryAfter.Microseconds()); now.Allowed && now.At < ends {
								t.Errorf("refused until %d, admitted at %d", ends, now.At)
							}
						}
					})
				}
			}
			wg.Wait()
			slices.SortStableFunc(all, func(a, b taken) int { return cmp.Compare(a.at, b.at) })
			interval, tat := store.Instant(limit.Period.Microseconds()/limit.Rate), store.Instant(0)
			for _, a := range all {
				if tat = max(tat, a.at) + store.Instant(a.cost)*interval; tat-a.at > units*interval {
					t.Fatalf("%d µs ahead at %d, want %d at most", tat-a.at, a.at, units*interval)
				}
			}
			if admitted < 10 || denied < 10 {
				t.Errorf("%d admitted, %d denied: too few to show anything", admitted, denied)
			}
		})
	}
}
