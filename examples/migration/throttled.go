package migration

import (
	"net/http"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func throttledBefore() (func(http.Handler) http.Handler, error) {
	store, err := memstore.NewCtx(65536)
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerSec(10), MaxBurst: 4} // 5 at once
	limiter, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	limit := throttled.HTTPRateLimiterCtx{
		RateLimiter: limiter,
		VaryBy:      &throttled.VaryBy{Headers: []string{"X-User"}},
	}
	return limit.RateLimit, nil
}

func throttledAfter(store weir.Store) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{
		Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(5)},
	})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		Limiter: limiter, Key: weir.KeyHeader("X-User"), Headers: middleware.HeadersX,
	})
}
