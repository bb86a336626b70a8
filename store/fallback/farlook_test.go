package fallback_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Waiting calls look at their key for brakes. Far from Redis, a look takes longer than a
// call that wants its answer now may. Redis decides it all the same.
func TestLooksFarFromRedis(t *testing.T) {
	if long.Race {
		t.Skip("with the race detector calls take longer than their budget")
	}
	t.Parallel()
	f := newFleet(t, 0, 120*time.Millisecond, fallback.Config{})
	take(t, f.direct(), charge("warm", 1, store.Per(1000, time.Second))) // Other processes have loaded the script.
	// A stall of the machine uses up the patience of the first call. Nothing closes the
	// breaker again: Redis is further away than the budget.
	s := f.join(fallback.Config{})
	for tries := 0; take(t, s, charge("first", 1, store.Per(1000, time.Second))).Degraded; tries++ {
		if tries == 20 {
			t.Fatal("Redis decides the first call of no process")
		}
		s = f.join(fallback.Config{})
	}
	var mu sync.Mutex
	sources := make(map[store.Source]int)
	hook := weir.HookFunc(func(_ context.Context, e weir.Event) {
		if e.Op == "take" {
			mu.Lock()
			defer mu.Unlock()
			sources[e.Decision.Source]++
		}
	})
	l, err := weir.New(weir.Config{Name: "far", Store: s, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	const calls = 15
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if err := l.Wait(t.Context(), "k"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if sources[store.SourceStore] <= calls || sources[store.SourceFallback] > 0 {
		t.Errorf("%d answers of Redis, %d of the fallback; want more than %d and none", sources[store.SourceStore], sources[store.SourceFallback], calls)
	}
}
