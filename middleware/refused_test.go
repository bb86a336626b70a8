package middleware_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/middleware"
)

// TestRefusedAllocations checks that a refusal allocates its answer alone:
//
//	a refusal by a limit            allocations
//	values of the rate headers      1
//	values of the answer's headers  1
//	text of Retry-After             1
//	text of Content-Length          1
//	the body                        1
//	text of a style's rate headers  1, and 1 more for a request's own policies
//	a decision on several limits    1
//
// Other refusals allocate the values of headers, the text of Content-Length, and the body.
func TestRefusedAllocations(t *testing.T) {
	one, two := []weir.Limit{weir.PerDay(1)}, []weir.Limit{weir.PerDay(1), weir.PerHour(1).By(weir.FixedWindow)}
	styled := func(style middleware.HeaderStyle) func(*middleware.Config) {
		return func(cfg *middleware.Config) { cfg.Headers = style }
	}
	plan := func(style middleware.HeaderStyle) func(*middleware.Config) {
		return func(cfg *middleware.Config) {
			cfg.Headers = style
			cfg.Limits = func(*http.Request) ([]weir.Limit, error) { return one, nil }
		}
	}
	for _, tt := range []struct {
		name   string
		limits []weir.Limit
		config func(*middleware.Config)
		want   float64
	}{
		{"draft 11", one, styled(middleware.HeadersDraft11), 6},
		{"X", one, styled(middleware.HeadersX), 6},
		{"X epoch", one, styled(middleware.HeadersXEpoch), 6},
		{"draft 6", one, styled(middleware.HeadersDraft6), 6},
		{"no headers", one, styled(middleware.HeadersNone), 5},
		{"two limits", two, styled(middleware.HeadersDraft11), 7},
		{"a plan", one, plan(middleware.HeadersDraft11), 7},
		{"a plan, X", one, plan(middleware.HeadersX), 6},
		{"a plan, draft 6", one, plan(middleware.HeadersDraft6), 7},
		{"partitions", one, func(cfg *middleware.Config) { cfg.PartitionSecret = []byte("0123456789abcdef") }, 8},
		{"exposed", one, func(cfg *middleware.Config) { cfg.ExposeHeaders = true }, 7},
		{"a handler in OnLimited", one, func(cfg *middleware.Config) {
			cfg.OnLimited = func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) { w.WriteHeader(429) }
		}, 4},
		{"settled", one, func(cfg *middleware.Config) { cfg.Settle = middleware.OnlyFailures }, 6},
		{"delayed", one, func(cfg *middleware.Config) { cfg.Delay = middleware.Delay{Max: time.Second, MaxWaiting: 1} }, 6},
		{"listed", one, func(cfg *middleware.Config) { cfg.Lists.Block = middleware.Keys("mallory") }, 6},
		{"shadows", one, func(cfg *middleware.Config) { cfg.Shadows = []*weir.Limiter{named(t, "shadow")} }, 6},
		{"blocked", one, func(cfg *middleware.Config) { cfg.Lists.Block = middleware.Keys("all") }, 3},
		{"no identity", one, func(cfg *middleware.Config) { cfg.Key = weir.KeyHeader("X-User") }, 3},
		{"no identity, 429", one, func(cfg *middleware.Config) {
			cfg.Key = weir.KeyHeader("X-User")
			cfg.OnNoKey = func(*http.Request, error) middleware.NoKey { return middleware.NoKey{Status: 429} }
		}, 3},
	} {
		store := httpcases.NewCounting().Store
		cfg := middleware.Config{Limiter: httpcases.NewLimiter(t, store, tt.limits...), Key: weir.KeyStatic("all")}
		tt.config(&cfg)
		g := guard(t, cfg)
		w, r := reused{}, request(t.Context())
		g.Check(w, r)
		allocs := testing.AllocsPerRun(200, func() {
			clear(w)
			if _, ok := g.Check(w, r); ok {
				t.Error("passed")
			}
		})
		if allocs > tt.want && !long.Race {
			t.Errorf("%s: %v allocations, want %v", tt.name, allocs, tt.want)
		}
	}
}

type reused http.Header

func (w reused) Header() http.Header         { return http.Header(w) }
func (w reused) Write(b []byte) (int, error) { return len(b), nil }
func (w reused) WriteHeader(int)             {}
