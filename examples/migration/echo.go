package migration

import (
	"time"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echo"
	"github.com/goweir/weir/middleware"
)

func echoBefore() echo.MiddlewareFunc {
	store := echomiddleware.NewRateLimiterMemoryStoreWithConfig(
		echomiddleware.RateLimiterMemoryStoreConfig{Rate: 10, Burst: 30, ExpiresIn: 3 * time.Minute})
	return echomiddleware.RateLimiter(store)
}

func echoAfter(store weir.Store) (echo.MiddlewareFunc, error) {
	limits := []weir.Limit{weir.PerSecond(10).WithBurst(30)}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	if err != nil {
		return nil, err
	}
	return weirecho.New(middleware.Config{Limiter: limiter, Key: weir.KeyRemoteIP()})
}
