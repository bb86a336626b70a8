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

// TestSilentServerHoldsNobodyUpThrice: calls without a deadline wait for the round trips under
// way, and for their own. Calls with a deadline leave at the deadline.
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
		longest := 2 * timeout
		if deadline > 0 {
			longest = deadline
		}
		var mu sync.Mutex
		var took time.Duration // at most
		late := watchLateness(t)
		all(func(key string) {
			ctx := t.Context()
			if deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, deadline)
				defer cancel()
			}
			began := time.Now()
			_, err := s.Take(ctx, charge(key, 1, store.Per(100, time.Hour)))
			mu.Lock()
			defer mu.Unlock()
			took = max(took, time.Since(began))
			if err == nil {
				t.Errorf("%s: no error after %v", key, took)
			}
		})
		// A deadline, and each timer of the client, may come late by that much.
		if slack := late.stop(); took > longest+timeout/2+slack {
			t.Errorf("a call took %v, want at most %v; the machine was late by up to %v", took, longest, slack)
		}
	}
}
