package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// rename gives the rate headers the names that the API's clients know.
func rename(h http.Header) {
	for _, name := range []string{"Limit", "Remaining", "Reset"} {
		h["X-Quota-"+name] = h["X-Ratelimit-"+name]
		delete(h, "X-Ratelimit-"+name)
	}
}

// The rate headers have other names, on served requests and on refusals.
func ExampleConfig_renamedHeaders() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(1)}})
	if err != nil {
		panic(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyRemoteIP(),
		Headers: middleware.HeadersX,
		OnLimited: func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) {
			rename(w.Header())
			http.Error(w, "slow down", http.StatusTooManyRequests)
		},
	})
	if err != nil {
		panic(err)
	}
	things := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rename(w.Header()) // The limit has set them before.
		fmt.Fprintln(w, "a thing")
	})
	for range 2 {
		w := httptest.NewRecorder()
		limit(things).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things", http.NoBody))
		fmt.Printf("%d %q %q\n", w.Code, w.Header().Get("X-Quota-Remaining"), w.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// 200 "0" ""
	// 429 "0" ""
}
