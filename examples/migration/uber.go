package migration

import (
	"net/http"

	"go.uber.org/ratelimit"

	"github.com/goweir/weir"
)

// uberBefore sends a request after Take, which ignores the request's context.
type uberBefore struct {
	limiter ratelimit.Limiter // ratelimit.New(10, ratelimit.WithoutSlack)
	base    http.RoundTripper
}

func (t *uberBefore) RoundTrip(r *http.Request) (*http.Response, error) {
	t.limiter.Take()
	return t.base.RoundTrip(r)
}

func uberAfter(store weir.Store, base http.RoundTripper) (http.RoundTripper, error) {
	limiter, err := weir.New(weir.Config{
		Name:   "provider",
		Store:  store,
		Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)},
	})
	if err != nil {
		return nil, err
	}
	return weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})
}
