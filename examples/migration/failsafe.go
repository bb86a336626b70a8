package migration

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
)

func failsafeBefore(base http.RoundTripper) http.RoundTripper {
	limit := ratelimiter.NewSmoothBuilder[*http.Response](10, time.Second).WithMaxWaitTime(time.Minute).Build()
	again := failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, 20*time.Second).Build()
	return failsafehttp.NewRoundTripper(base, again, limit)
}

func failsafeAfter(store weir.Store, base http.RoundTripper) (http.RoundTripper, error) {
	limiter, err := weir.New(weir.Config{
		Name:   "provider",
		Store:  store,
		Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)},
	})
	if err != nil {
		return nil, err
	}
	limited, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter, Key: weir.KeyHost(), MaxWait: time.Minute, Base: base,
	})
	if err != nil {
		return nil, err
	}
	return retry.New(retry.Config{Base: limited, Max: 2})
}
