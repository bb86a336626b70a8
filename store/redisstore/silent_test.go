package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestSilentServerHoldsNobodyUpTwice: calls of a flight that would have looked first
// what the server is do not wait for that, and then for an answer of their own.
func TestSilentServerHoldsNobodyUpTwice(t *testing.T) {
	t.Parallel()
	const callers, timeout = 32, time.Second
	server := redistest.Start(t)
	s := newStore(t, server.Client(func(o *redis.Options) {
		o.PoolSize, o.ReadTimeout = 2*callers, timeout
		Configure(o)
	}))
	all := func(what func(key string)) {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { what(fmt.Sprint("key", i)) })
		}
		wg.Wait()
	}
	all(func(key string) { take(t, s, charge(key, 1, store.Per(100, time.Hour))) })
	server.Stop()
	defer server.Cont()
	for range 3 {
		all(func(key string) {
			began := time.Now()
			_, err := s.Take(context.Background(), charge(key, 1, store.Per(100, time.Hour)))
			if took := time.Since(began); err == nil || took > timeout*17/10 {
				t.Errorf("%s: %v after %v", key, err, took)
			}
		})
	}
}
