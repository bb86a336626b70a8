package migration

import (
	"context"
	"net/http"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func ululeBefore(store limiter.Store, user func(*http.Request) string) (func(http.Handler) http.Handler, error) {
	rate, err := limiter.NewRateFromFormatted("10-M")
	if err != nil {
		return nil, err
	}
	return stdlib.NewMiddleware(limiter.New(store, rate), stdlib.WithKeyGetter(user)).Handler, nil
}

func ululeAfter(store weir.Store, user func(context.Context) (string, bool)) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{
		Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(10).By(weir.FixedWindow)},
	})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		Limiter: limiter, Key: weir.KeyContext(user), Headers: middleware.HeadersXEpoch,
	})
}
