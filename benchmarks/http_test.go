package benchmarks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/didip/tollbooth/v7"
	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

const apiKeyHeader = "X-Api-Key"

// BenchmarkHTTP measures a middleware around a handler that does nothing, over
// a store within the process. All count by the text of the X-API-Key header
// and set X-RateLimit headers, but where the name says something else.
func BenchmarkHTTP(b *testing.B) {
	for _, c := range []struct {
		name  string
		mount func(b *testing.B, h http.Handler) http.Handler
	}{
		{"none", func(_ *testing.B, h http.Handler) http.Handler { return h }},
		{"weir", weirHTTP(weir.GCRA, weir.KeyHeader(apiKeyHeader), middleware.HeadersX)},
		{"weir-counter", weirHTTP(weir.SlidingCounter, weir.KeyHeader(apiKeyHeader), middleware.HeadersX)},
		{"weir-ietf-headers", weirHTTP(weir.GCRA, weir.KeyHeader(apiKeyHeader), middleware.HeadersIETF)},
		{"weir-hashed-key", weirHTTP(weir.GCRA, weir.KeyAPIKey(apiKeyHeader, []byte("secret")), middleware.HeadersX)},
		{"httprate", mountHTTPRate},
		{"go-limiter", mountGoLimiter},
		{"ulule", mountUlule},
		{"throttled", mountThrottled},
		{"tollbooth", mountTollbooth},
	} {
		for _, goroutines := range []int{1, 8} {
			b.Run(fmt.Sprintf("middleware=%s/goroutines=%d", c.name, goroutines), func(b *testing.B) {
				serve(b, c.mount(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), goroutines)
			})
		}
	}
}

// discard is a ResponseWriter whose header map is there already, as that of a
// server is.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// serve has a number of goroutines, each with an API key of its own, send b.N
// requests together.
func serve(b *testing.B, h http.Handler, goroutines int) {
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g, key := range makeKeys(goroutines) {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody)
			r.Header.Set(apiKeyHeader, key)
			w := &discard{header: make(http.Header)}
			for i := g; i < b.N; i += goroutines {
				clear(w.header)
				h.ServeHTTP(w, r)
				if w.status != 0 {
					b.Errorf("status %d", w.status)
					return
				}
			}
		})
	}
	all.Wait()
}

func weirHTTP(a weir.Algorithm, key weir.KeyFunc, headers middleware.HeaderStyle) func(*testing.B, http.Handler) http.Handler {
	return func(b *testing.B, h http.Handler) http.Handler {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			b.Fatal(err)
		}
		limit, err := middleware.New(middleware.Config{Limiter: newLimiter(b, store, a), Key: key, Headers: headers})
		if err != nil {
			b.Fatal(err)
		}
		return limit(h)
	}
}

func headerKey(r *http.Request) (string, error) { return r.Header.Get(apiKeyHeader), nil }

func mountHTTPRate(_ *testing.B, h http.Handler) http.Handler {
	return httprate.LimitBy(most, window, headerKey)(h)
}

func mountGoLimiter(b *testing.B, h http.Handler) http.Handler {
	store, err := memorystore.New(&memorystore.Config{Tokens: most, Interval: window})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close(b.Context()) })
	m, err := httplimit.NewMiddleware(store, headerKey)
	if err != nil {
		b.Fatal(err)
	}
	return m.Handle(h)
}

func mountUlule(_ *testing.B, h http.Handler) http.Handler {
	l := ulule.New(ululememory.NewStore(), ulule.Rate{Period: window, Limit: most})
	m := ululehttp.NewMiddleware(l, ululehttp.WithKeyGetter(func(r *http.Request) string { return r.Header.Get(apiKeyHeader) }))
	return m.Handler(h)
}

func mountThrottled(b *testing.B, h http.Handler) http.Handler {
	store, err := memstore.NewCtx(0)
	if err != nil {
		b.Fatal(err)
	}
	m := &throttled.HTTPRateLimiterCtx{
		RateLimiter: newThrottled(b, store),
		VaryBy:      &throttled.VaryBy{Headers: []string{apiKeyHeader}},
	}
	return m.RateLimit(h)
}

// mountTollbooth counts by address, path and API key: it can't leave the first
// out.
func mountTollbooth(_ *testing.B, h http.Handler) http.Handler {
	l := newTollbooth().SetHeader(apiKeyHeader, nil).SetIPLookups([]string{"RemoteAddr"})
	return tollbooth.LimitHandler(l, h)
}
