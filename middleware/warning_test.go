package middleware_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// TestWarnings checks the warnings of seven requests of one key, one each second, and how many pass.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const near, over = `near;policy="5-in-1h"`, `over;policy="5-in-1h"`
	const nearPlan = `near;policy="org:plan"`
	five := weir.PerHour(5)
	shadows := func(t *testing.T, limits ...weir.Limit) func(*middleware.Config) {
		return func(cfg *middleware.Config) { cfg.Shadows = []*weir.Limiter{on(t, newLocal(t), "planned", limits...)} }
	}
	tests := []struct {
		name   string
		limit  weir.Limit
		config func(*middleware.Config)
		want   [7]string
		passed int
	}{
		{name: "near its limit", limit: five, want: [7]string{3: near, 4: near}, passed: 5},
		{name: "of one unit", limit: weir.PerHour(1).WithName("one"), want: [7]string{}, passed: 1},
		{name: "far from its limit", limit: weir.PerHour(100), passed: 7},
		{name: "in shadow", limit: five, config: func(cfg *middleware.Config) { cfg.Shadow = true }, want: [7]string{3: near, 4: near, 5: over, 6: over}, passed: 7},
		{name: "over a limit in shadow", limit: weir.PerHour(100), config: shadows(t, five), want: [7]string{3: near, 4: near, 5: over, 6: over}, passed: 7},
		{name: "refused before the shadow is asked", limit: weir.PerHour(4).WithName("four"), config: shadows(t, five), want: [7]string{3: near}, passed: 4},
		{name: "with levels, over a limit in shadow", limit: weir.PerHour(100), config: func(cfg *middleware.Config) {
			shadows(t, five)(cfg)
			store := newLocal(t)
			cfg.Limiter = on(t, store, "api", weir.PerHour(100))
			cfg.Levels = []middleware.Level{{Limiter: on(t, store, "all", weir.PerHour(200)), Key: weir.KeyStatic("all")}}
		}, want: [7]string{3: near, 4: near, 5: over, 6: over}, passed: 7},
		{name: "near its limit, beside a limit of one unit", limit: five, config: func(cfg *middleware.Config) {
			cfg.Limiter = on(t, newLocal(t), "api", weir.PerSecond(1), five)
		}, want: [7]string{3: near, 4: near}, passed: 5},
		{name: "over a limit in shadow, beside one of one unit", limit: weir.PerHour(100), config: shadows(t, weir.PerSecond(1), five),
			want: [7]string{3: near, 4: near, 5: over, 6: over}, passed: 7},
		{name: "near a wider plan, beside a plan of one unit", limit: five, config: func(cfg *middleware.Config) {
			store := newLocal(t)
			cfg.Limiter = on(t, store, "user", weir.PerSecond(1))
			cfg.Limits = func(*http.Request) ([]weir.Limit, error) {
				return []weir.Limit{weir.PerSecond(1).WithName("plan")}, nil
			}
			cfg.Levels = []middleware.Level{{
				Limiter: on(t, store, "org", five), Key: weir.KeyStatic("org"),
				Limits: func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{five.WithName("plan")}, nil },
			}}
		}, want: [7]string{3: nearPlan, 4: nearPlan}, passed: 5},
		{name: "near a wider plan", limit: five, config: func(cfg *middleware.Config) {
			store := newLocal(t)
			cfg.Limiter = on(t, store, "user", weir.PerHour(100).WithName("plan"))
			cfg.Levels = []middleware.Level{{
				Limiter: on(t, store, "org", five), Key: weir.KeyStatic("org"),
				Limits: func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{five.WithName("plan")}, nil },
			}}
		}, want: [7]string{3: nearPlan, 4: nearPlan}, passed: 5},
		{name: "without a hook for warnings", limit: five, config: func(cfg *middleware.Config) { cfg.OnWarning = nil }, passed: 5},
		{name: "without rate headers", limit: five, config: func(cfg *middleware.Config) { cfg.Headers = middleware.HeadersNone }, want: [7]string{3: near, 4: near}, passed: 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := middleware.Config{Limiter: on(t, newLocal(t), "api", tt.limit), Key: weir.KeyStatic("ann"), OnWarning: middleware.WarnByHeader}
				if tt.config != nil {
					tt.config(&cfg)
				}
				limit, err := middleware.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				passed := 0
				h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
				for i, want := range tt.want {
					time.Sleep(time.Second)
					var warnings []string
					if want != "" {
						warnings = []string{want}
					}
					got := serve(h).Header().Values("X-RateLimit-Warning")
					if len(got) > 1 {
						got = []string{got[0] + ", " + got[1]}
					}
					if !slices.Equal(got, warnings) {
						t.Errorf("request %d warns %q, want %q", i+1, got, warnings)
					}
				}
				if passed != tt.passed {
					t.Errorf("%d passed, want %d", passed, tt.passed)
				}
			})
		})
	}
}
