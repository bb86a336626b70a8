package contender

import (
	"context"
	"net/http"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
)

// Failsafe is failsafe-go's rate limiter. It has no keys.
func Failsafe() Contender {
	return Contender{
		Name: "failsafe-go", Module: "github.com/failsafe-go/failsafe-go",
		Note: "failsafe-go knows no keys: all calls share one limiter.",
		Transport: func(_ Cleaner, l Limit, base http.RoundTripper) (http.RoundTripper, error) {
			policy := ratelimiter.NewBurstyBuilder[*http.Response](uint(l.Burst), l.Window).WithMaxWaitTime(l.Window).Build()
			return failsafehttp.NewRoundTripper(base, failsafe.Policy[*http.Response](policy)), nil
		},
		Waiting: func(_ Cleaner, l Limit, _ Servers) (Wait, error) {
			policy := ratelimiter.NewSmoothWithMaxRate[any](l.Refill)
			return func(ctx context.Context, _ string) error { return policy.AcquirePermit(ctx) }, nil
		},
		LocalWaiting: true,
	}
}
