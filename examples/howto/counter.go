package howto

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/plainstore"
)

// Counter admits 100 units per minute and key, on a Redis that runs no scripts.
type Counter struct{ limiter *weir.Limiter }

// NewCounter returns a Counter. The client stays the caller's.
func NewCounter(client redis.UniversalClient) (*Counter, error) {
	store, err := plainstore.New(plainstore.Config{Client: client})
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(weir.Config{
		Name:   "exports",
		Store:  store,
		Limits: []weir.Limit{weir.PerMinute(100).By(weir.FixedWindow)},
	})
	if err != nil {
		return nil, err
	}
	return &Counter{limiter}, nil
}

// Take reports whether the key may go on. If not, it returns the time until the
// window ends.
func (c *Counter) Take(ctx context.Context, key string) (ok bool, retryAfter time.Duration, err error) {
	d, err := c.limiter.Allow(ctx, key)
	return d.Allowed, d.RetryAfter, err
}
