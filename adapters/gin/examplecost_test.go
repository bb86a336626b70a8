package weirgin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// An export costs 20 units, and any other request 1. gin runs its middleware for unknown
// paths too: these have no route.
func Example_costs() {
	store, err := localstore.New(localstore.Config{}) // with replicas: redisstore
	check(err)
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(30)}})
	check(err)
	costs := map[string]int64{"0|POST /export": 20} // KeyFirst puts 0| before a route
	route := weir.KeyFirst(weir.KeyRoute(), weir.KeyStatic("unmatched"))
	limit, err := weirgin.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyRemoteIP(),
		Cost: func(r *http.Request) (int64, error) {
			name, err := route(r)
			return max(costs[name], 1), err
		},
	})
	check(err)
	engine := gin.New()
	engine.Use(limit)
	engine.POST("/export", func(c *gin.Context) { c.String(http.StatusOK, "all of it") })

	for _, path := range []string{"/export", "/unknown", "/export"} {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /export 200
	// /unknown 404
	// /export 429
}
