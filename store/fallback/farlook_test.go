package fallback_test

import (
	"context"
	"fmt"
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
	f := newFleet(t, 0, 60*time.Millisecond, fallback.Config{})
	// Other processes have loaded the scripts of calls that wait, and of those that don't.
	take(t, f.direct(), charge("warm", 1, store.Per(1000, time.Second)))
	take(t, f.direct(), cancelable("warm", 1, store.Per(1000, time.Second)))
	const calls = 15
	var redis, local int
	// A stall of the machine uses up the patience. The best process has none.
	for tries, end := 0, time.Now().Add(forCalm); tries == 0 || local > 0 && (tries < 10 || time.Now().Before(end)); tries++ {
		redis, local = looksFrom(t, f.join(fallback.Config{Budget: 25 * time.Millisecond}), fmt.Sprint("k", tries), calls)
	}
	if redis <= calls || local > 0 {
		t.Errorf("%d answers of Redis, %d of the fallback; want more than %d and none", redis, local, calls)
	}
}

// looksFrom makes waiting calls over a store. It returns the numbers of answers to the
// calls and to their looks.
func looksFrom(t *testing.T, s store.Store, key string, calls int) (redis, local int) {
	var mu sync.Mutex
	sources := make(map[store.Source]int)
	hook := func(_ context.Context, e weir.Event) {
		if e.Op == "take" {
			mu.Lock()
			defer mu.Unlock()
			sources[e.Decision.Source]++
		}
	}
	l, err := weir.New(weir.Config{Name: "far", Store: s, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if err := l.Wait(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	return sources[store.SourceStore], sources[store.SourceFallback]
}
