package contender

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// RedisRate is redis_rate: GCRA, one script call per decision.
func RedisRate() Contender {
	return Contender{
		Name: "redis_rate", Module: "github.com/go-redis/redis_rate/v10",
		Redis:     openRedisRate,
		OnCluster: true,
		Network:   openRedisRate,
		Waiting:   redisRateWaiting,
	}
}

func openRedisRate(c Cleaner, l Limit, at Servers) (Decide, error) {
	limiter := redis_rate.NewLimiter(at.Client(c))
	limit := redis_rate.Limit{Rate: 1, Burst: int(l.Burst), Period: l.Refill}
	return func(ctx context.Context, key string) (bool, error) {
		r, err := limiter.Allow(ctx, key, limit)
		if err != nil {
			return false, err
		}
		return r.Allowed > 0, nil
	}, nil
}

// redisRateWaiting asks, sleeps for the answer's time, and asks again: redis_rate has no
// other way to wait.
func redisRateWaiting(c Cleaner, l Limit, at Servers) (Wait, error) {
	limiter := redis_rate.NewLimiter(at.Client(c))
	limit := redis_rate.Limit{Rate: 1, Burst: int(l.Burst), Period: l.Refill}
	return func(ctx context.Context, key string) error {
		for {
			r, err := limiter.Allow(ctx, key, limit)
			if err != nil || r.Allowed > 0 {
				return err
			}
			select {
			case <-time.After(r.RetryAfter):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}, nil
}
