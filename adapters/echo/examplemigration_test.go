package weirecho_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echo"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// What echo's RateLimiterMemoryStoreConfig{Rate: 10, Burst: 30} says.
func Example_fromEcho() {
	store, err := localstore.New(localstore.Config{})
	check(err)
	limits := []weir.Limit{weir.PerSecond(10).WithBurst(30)}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	check(err)
	limit, err := weirecho.New(middleware.Config{Limiter: limiter, Key: weir.KeyRemoteIP()})
	check(err)
	e := echo.New()
	e.Use(limit)

	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	fmt.Println(w.Code, w.Header().Get("RateLimit"))
	// Output: 200 "10-in-1s";r=29;t=1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
