package migration

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redisrate"
)

func redisRateBefore(ctx context.Context, limiter *redis_rate.Limiter, project string) (wait time.Duration, err error) {
	res, err := limiter.Allow(ctx, "project:"+project, redis_rate.PerSecond(10))
	if err != nil || res.Allowed > 0 {
		return 0, err
	}
	return res.RetryAfter, nil
}

// redisRateByImport differs from redisRateBefore in the package's name alone.
func redisRateByImport(ctx context.Context, limiter *redisrate.Limiter, project string) (wait time.Duration, err error) {
	res, err := limiter.Allow(ctx, "project:"+project, redisrate.PerSecond(10))
	if err != nil || res.Allowed > 0 {
		return 0, err
	}
	return res.RetryAfter, nil
}

// newProjects runs once, at the start of the program.
func newProjects(store weir.Store) (*weir.Limiter, error) {
	return weir.New(weir.Config{
		Name: "projects", Store: store, Limits: []weir.Limit{weir.PerSecond(10)},
	})
}

func redisRateAfter(ctx context.Context, projects *weir.Limiter, project string) (wait time.Duration, err error) {
	d, err := projects.Allow(ctx, project)
	return d.RetryAfter, err
}
