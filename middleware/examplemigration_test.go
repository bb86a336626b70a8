package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// What httprate.LimitBy(100, time.Minute, …) says, behind chi's
// ClientIPFromXFF("10.0.0.0/8").
func Example_fromHttprate() {
	store, err := localstore.New(localstore.Config{})
	check(err)
	limits := []weir.Limit{weir.PerMinute(100).By(weir.SlidingCounter)}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	check(err)
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	key, err := weir.KeyClientIP(weir.ClientIP{Header: "X-Forwarded-For", Trusted: proxies})
	check(err)
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: key, Headers: middleware.HeadersXEpoch})
	check(err)

	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "10.0.0.1:4711"
	r.Header.Set("X-Forwarded-For", "198.51.100.1, 203.0.113.7")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("X-RateLimit-Limit"), w.Header().Get("X-RateLimit-Remaining"))
	// Output: 200 100 99
}

// What ulule's limiter says as "1000-H" with a key getter that returns the user.
func Example_fromUlule() {
	store, err := localstore.New(localstore.Config{})
	check(err)
	limits := []weir.Limit{weir.PerHour(1000).By(weir.FixedWindow)}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	check(err)
	key := weir.KeyContext(userOf)
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: key, Headers: middleware.HeadersXEpoch})
	check(err)

	h := authenticate(limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.SetBasicAuth("ann", "secret")
	w := httptest.NewRecorder()
	before := time.Now().Unix()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("X-RateLimit-Limit"), w.Header().Get("X-RateLimit-Remaining"))
	fmt.Println(w.Header().Get("X-RateLimit-Reset") >= fmt.Sprint(before+3600))
	// Output:
	// 200 1000 999
	// true
}

// What tollbooth.NewLimiter(5, nil) says of each address and path.
func Example_fromTollbooth() {
	store, err := localstore.New(localstore.Config{})
	check(err)
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(5)}})
	check(err)
	key := weir.KeyJoin(weir.KeyRemoteIP(), weir.KeyRoute())
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: key, Headers: middleware.HeadersDraft6})
	check(err)
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	mux := http.NewServeMux()
	mux.Handle("GET /hello/{name}", limit(hello))

	for _, path := range []string{"/hello/ann", "/hello/bob"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Limit"), w.Header().Get("RateLimit-Reset"))
	}
	// Output:
	// 200 5 1
	// 200 5 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
