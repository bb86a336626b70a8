package redisrate_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/redisrate"
)

// Processes share a key: exactly the burst is taken, by calls of any size.
func TestOverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiters := []*redisrate.Limiter{redisrate.NewLimiter(server.Client()), redisrate.NewLimiter(server.Client())}
	limit := redisrate.PerHour(100)
	var taken atomic.Int64
	var calls sync.WaitGroup
	for i := range 60 {
		calls.Go(func() {
			r, err := limiters[i%2].AllowAtMost(t.Context(), "key", limit, 1+i%5)
			if err != nil {
				t.Error(err)
				return
			}
			taken.Add(int64(r.Allowed))
		})
	}
	calls.Wait()
	if n := taken.Load(); n != 100 {
		t.Errorf("%d units were taken, want 100", n)
	}
	if err := limiters[0].Reset(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	if r, err := limiters[0].Allow(t.Context(), "key", limit); err != nil || r.Allowed != 1 || r.Remaining != 99 {
		t.Errorf("after a reset: %+v, %v, want 99 remaining", r, err)
	}
}
