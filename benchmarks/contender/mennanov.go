//go:build !race

package contender

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mennanov/limiters"
)

// Mennanov is mennanov/limiters. Locally it has a token bucket for each key of its
// registry. Over Redis it has fixed windows, as its buckets need locks there.
func Mennanov() Contender {
	return Contender{
		Name: "mennanov/limiters", Module: "github.com/mennanov/limiters",
		Note: "mennanov/limiters keeps one limiter per key, in its registry, which needs a lock around it. Versions after 1.2.2 could not be fetched.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			return decideMennanov(l, func(string) mennanovLimiter {
				return limiters.NewTokenBucket(l.Burst, l.Refill, limiters.NewLockNoop(), limiters.NewTokenBucketInMemory(), limiters.NewSystemClock(), limiters.NewStdLogger())
			}), nil
		},
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			client := at.Single(c)
			return decideMennanov(l, func(key string) mennanovLimiter {
				return limiters.NewFixedWindow(l.Burst, l.Window, limiters.NewFixedWindowRedis(client, "mennanov:"+key), limiters.NewSystemClock())
			}), nil
		},
	}
}

type mennanovLimiter interface {
	Limit(ctx context.Context) (time.Duration, error)
}

func decideMennanov(l Limit, open func(key string) mennanovLimiter) Decide {
	registry, clock := limiters.NewRegistry(), limiters.NewSystemClock()
	var mu sync.Mutex
	return func(ctx context.Context, key string) (bool, error) {
		mu.Lock()
		limiter := registry.GetOrCreate(key, func() any { return open(key) }, l.Window, clock.Now()).(mennanovLimiter)
		mu.Unlock()
		_, err := limiter.Limit(ctx)
		if errors.Is(err, limiters.ErrLimitExhausted) {
			return false, nil
		}
		return err == nil, err
	}
}
