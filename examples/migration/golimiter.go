package migration

import (
	"net/http"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func goLimiterBefore(interval time.Duration) (limit func(http.Handler) http.Handler, store limiter.Store, err error) {
	store, err = memorystore.New(&memorystore.Config{Tokens: 5, Interval: interval})
	if err != nil {
		return nil, nil, err
	}
	middleware, err := httplimit.NewMiddleware(store, httplimit.IPKeyFunc())
	if err != nil {
		return nil, nil, err
	}
	return middleware.Handle, store, nil
}

func goLimiterAfter(store weir.Store, interval time.Duration) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{
		Name: "api", Store: store, Limits: []weir.Limit{weir.Per(5, interval).By(weir.FixedWindow)},
	})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		Limiter: limiter, Key: weir.KeyRemoteIP(), Headers: middleware.HeadersXEpoch,
	})
}
