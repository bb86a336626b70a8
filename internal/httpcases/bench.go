package httpcases

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Benchmark measures a mount without the middleware, which is the cost of the framework,
// with a store that costs nothing, and with the local store.
func Benchmark(b *testing.B, mount Mount, bare http.Handler) {
	key := weir.KeyAPIKey("X-API-Key", []byte("secret"))
	b.Run("without", func(b *testing.B) { benchmark(b, bare) })
	for _, bb := range []struct {
		name   string
		config func(*middleware.Config)
	}{
		{"draft11", func(*middleware.Config) {}},
		{"x", func(cfg *middleware.Config) { cfg.Headers = middleware.HeadersX }},
		{"none", func(cfg *middleware.Config) { cfg.Headers = middleware.HeadersNone }},
		{"plan", func(cfg *middleware.Config) {
			plan := []weir.Limit{weir.PerMinute(600).WithName("pro")}
			cfg.Limits = func(*http.Request) ([]weir.Limit, error) { return plan, nil }
		}},
		{"local", func(cfg *middleware.Config) { cfg.Limiter = NewLimiter(b, newStore(), weir.PerSecond(1<<40)) }},
		{"two", func(cfg *middleware.Config) {
			cfg.Limiter = NewLimiter(b, newStore(), weir.PerSecond(1<<40), weir.PerDay(1<<48))
		}},
		{"refused", func(cfg *middleware.Config) {
			cfg.Cost = func(*http.Request) (int64, error) { return 2, nil }
			cfg.Limiter = NewLimiter(b, newStore(), weir.PerDay(1))
		}},
		{"settled", func(cfg *middleware.Config) {
			cfg.Settle = middleware.OnlyFailures
			cfg.Limiter = NewLimiter(b, newStore(), weir.PerSecond(1<<40))
		}},
		{"delayed", func(cfg *middleware.Config) {
			cfg.Delay = middleware.Delay{Max: time.Second, MaxWaiting: 1}
			cfg.Limiter = NewLimiter(b, newStore(), weir.PerSecond(1<<40))
		}},
		{"levels", func(cfg *middleware.Config) {
			store := newStore()
			cfg.Limiter = NewLimiter(b, store, weir.PerSecond(1<<40))
			cfg.Levels = []middleware.Level{
				{Limiter: named(b, store, "org", weir.PerSecond(1<<41)), Key: weir.KeyStatic("acme")},
				{Limiter: named(b, store, "all", weir.PerSecond(1<<42)), Key: weir.KeyStatic("all")},
			}
		}},
		{"skipped", func(cfg *middleware.Config) { cfg.Skip = func(*http.Request) bool { return true } }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			cfg := middleware.Config{Limiter: NewLimiter(b, Always{}, weir.PerMinute(600)), Key: key}
			bb.config(&cfg)
			h, err := mount(cfg, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			must(b, err)
			benchmark(b, h)
		})
	}
}

// discard is a ResponseWriter that has its header map from the start, as a server's has.
type discard http.Header

func (d discard) Header() http.Header         { return http.Header(d) }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func benchmark(b *testing.B, h http.Handler) {
	r := httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody)
	r.Header.Set("X-API-Key", "0123456789abcdef0123456789abcdef")
	w := discard{}
	b.ReportAllocs()
	for b.Loop() {
		clear(w)
		h.ServeHTTP(w, r)
	}
}
