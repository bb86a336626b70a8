package contender

import (
	"context"
	"net/http"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/throttled/throttled/v2/store/memstore"
)

// Throttled is throttled: GCRA by compare-and-swap.
func Throttled() Contender {
	return Contender{
		Name: "throttled", Module: "github.com/throttled/throttled/v2",
		Note: "throttled gives up a call when others have changed its key ten times meanwhile: such calls are errors here, and not counted as decisions.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			store, err := memstore.NewCtx(0)
			if err != nil {
				return nil, err
			}
			return decideThrottled(store, l)
		},
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			store, err := goredisstore.NewCtx(at.Client(c), "throttled:")
			if err != nil {
				return nil, err
			}
			return decideThrottled(store, l)
		},
		Web: Web{NetHTTP, func(_ Cleaner, l Limit, h http.Handler) (http.Handler, error) {
			store, err := memstore.NewCtx(0)
			if err != nil {
				return nil, err
			}
			limiter, err := newThrottled(store, l)
			if err != nil {
				return nil, err
			}
			m := &throttled.HTTPRateLimiterCtx{RateLimiter: limiter, VaryBy: &throttled.VaryBy{Headers: []string{KeyHeader}}}
			return m.RateLimit(h), nil
		}},
	}
}

func decideThrottled(store throttled.GCRAStoreCtx, l Limit) (Decide, error) {
	limiter, err := newThrottled(store, l)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (bool, error) {
		limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}, nil
}

func newThrottled(store throttled.GCRAStoreCtx, l Limit) (*throttled.GCRARateLimiterCtx, error) {
	// MaxBurst does not count the first unit.
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(1, l.Refill), MaxBurst: int(l.Burst) - 1}
	return throttled.NewGCRARateLimiterCtx(store, quota)
}
