package migration

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redisrate"
)

func redisRateBefore(ctx context.Context, rdb *redis.Client, project string) (wait time.Duration, err error) {
	limiter := redis_rate.NewLimiter(rdb)
	res, err := limiter.Allow(ctx, "project:"+project, redis_rate.PerSecond(10))
	if err != nil || res.Allowed > 0 {
		return 0, err
	}
	return res.RetryAfter, nil
}

// redisRateByImport differs from redisRateBefore in the package's name alone.
func redisRateByImport(ctx context.Context, rdb *redis.Client, project string) (wait time.Duration, err error) {
	limiter := redisrate.NewLimiter(rdb)
	res, err := limiter.Allow(ctx, "project:"+project, redisrate.PerSecond(10))
	if err != nil || res.Allowed > 0 {
		return 0, err
	}
	return res.RetryAfter, nil
}

func redisRateAfter(ctx context.Context, store weir.Store, project string) (wait time.Duration, err error) {
	limiter, err := weir.New(weir.Config{
		Name: "projects", Store: store, Limits: []weir.Limit{weir.PerSecond(10)},
	})
	if err != nil {
		return 0, err
	}
	d, err := limiter.Allow(ctx, project)
	return d.RetryAfter, err
}
