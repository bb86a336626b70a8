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

// TestSilentServerHoldsNobodyUpThrice: calls without a deadline wait for the round trips
// that are under way, and for their own. With a deadline they leave then.
func TestSilentServerHoldsNobodyUpThrice(t *testing.T) {
	t.Parallel()
	const callers, timeout = 32, 500 * time.Millisecond
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
	for _, deadline := range []time.Duration{0, timeout / 5} {
		all(func(key string) {
			ctx, longest := t.Context(), 2*timeout
			if deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, deadline)
				defer cancel()
				longest = deadline
			}
			began := time.Now()
			_, err := s.Take(ctx, charge(key, 1, store.Per(100, time.Hour)))
			if took := time.Since(began); err == nil || took > longest+timeout/2 {
				t.Errorf("%s: %v after %v", key, err, took)
			}
		})
	}
}
