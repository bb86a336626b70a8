package migration

import (
	"net/http"
	"net/netip"
	"time"

	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func httprateBefore() []func(http.Handler) http.Handler {
	return []func(http.Handler) http.Handler{
		chimiddleware.ClientIPFromXFF("10.0.0.0/8"),
		httprate.LimitBy(100, time.Minute, func(r *http.Request) (string, error) {
			return httprate.CanonicalizeIP(chimiddleware.GetClientIP(r.Context())), nil
		}),
	}
}

func httprateAfter(store weir.Store) (func(http.Handler) http.Handler, error) {
	limits := []weir.Limit{weir.PerMinute(100).By(weir.SlidingCounter)}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	if err != nil {
		return nil, err
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	key, err := weir.KeyClientIP(weir.ClientIP{Header: "X-Forwarded-For", Trusted: proxies})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{Limiter: limiter, Key: key, Headers: middleware.HeadersXEpoch})
}
