package middleware_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestRefusedAllocations checks that a refusal costs its answer alone: the
// values of the rate headers and of the answer's own, in two pieces, the text
// of RateLimit, Retry-After and Content-Length, and the body.
func TestRefusedAllocations(t *testing.T) {
	for name, config := range map[string]func(*middleware.Config){
		"plain":   func(*middleware.Config) {},
		"settled": func(cfg *middleware.Config) { cfg.Settle = middleware.OnlyFailures },
		"delayed": func(cfg *middleware.Config) { cfg.Delay = middleware.Delay{Max: time.Second, MostWaiting: 1} },
		"listed":  func(cfg *middleware.Config) { cfg.Lists.Block = middleware.Keys("mallory") },
		"shadows": func(cfg *middleware.Config) { cfg.Shadows = []*weir.Limiter{named(t, "shadow")} },
	} {
		store := httpcases.NewCounting().Store
		cfg := middleware.Config{Limiter: httpcases.NewLimiter(t, store, weir.PerDay(1)), Key: weir.KeyStatic("all")}
		config(&cfg)
		g := guard(t, cfg)
		w, r := reused{}, request(t.Context())
		g.Check(w, r)
		allocs := testing.AllocsPerRun(100, func() {
			clear(w)
			if _, ok := g.Check(w, r); ok {
				t.Error("passed")
			}
		})
		if allocs > 6 && !raceEnabled {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

type reused http.Header

func (w reused) Header() http.Header         { return http.Header(w) }
func (w reused) Write(b []byte) (int, error) { return len(b), nil }
func (w reused) WriteHeader(int)             {}
