package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// listening is a LimitedWriter.
type listening struct {
	*httptest.ResponseRecorder
	violated []middleware.Violation
	told     []string // the reason, and the headers and bytes written by then
}

func (l *listening) Limited(d weir.Decision, violated []middleware.Violation) {
	l.violated = violated
	l.told = append(l.told, d.Reason.String(), l.Header().Get("RateLimit"), l.Header().Get("Retry-After"), l.Body.String())
}

// TestLimitedWriter checks that a writer gets refusals by limits alone, whether the
// middleware or OnLimited answers them.
func TestLimitedWriter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config func(*middleware.Config)
		user   string
		told   bool
	}{
		{name: "over a limit", user: "ann", told: true},
		{name: "answered by a handler of one's own", user: "ann", told: true, config: func(cfg *middleware.Config) {
			cfg.OnLimited = func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) { w.WriteHeader(http.StatusTeapot) }
		}},
		{name: "in shadow", user: "ann", config: func(cfg *middleware.Config) { cfg.Shadow = true }},
		{name: "without an identity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			limiter, err := weir.New(weir.Config{Name: "users", Store: store, Limits: []weir.Limit{weir.PerHour(1)}})
			if err != nil {
				t.Fatal(err)
			}
			cfg := middleware.Config{Limiter: limiter, Key: weir.KeyHeader("X-User")}
			if tt.config != nil {
				tt.config(&cfg)
			}
			guard, err := middleware.NewGuard(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("X-User", tt.user)
			guard.Check(&listening{ResponseRecorder: httptest.NewRecorder()}, r)
			w := &listening{ResponseRecorder: httptest.NewRecorder()}
			guard.Check(w, r)
			if told := len(w.told) == 4; told != tt.told {
				t.Errorf("the writer got %v", w.told)
			} else if told && !slices.Equal(w.violated, []middleware.Violation{{Policy: "1-in-1h", Limiter: "users"}}) {
				t.Errorf("violated %v", w.violated)
			} else if told && (w.told[0] != "limited" || w.told[1] == "" || w.told[2] != "" || w.told[3] != "") {
				t.Errorf("the writer got %q", w.told)
			}
		})
	}
}

// terse is a store that refuses, and returns the state of the last limit alone.
type terse struct{}

func (terse) Take(_ context.Context, req store.Request) (store.Decision, error) {
	last := req.Charges[len(req.Charges)-1]
	return store.Decision{Reason: weir.ReasonLimited, Limit: last.Limit, Scope: last.Scope, RetryAfter: time.Second}, nil
}

// TestViolationsOfTerseDecision checks a decision without the state of every limit: it
// violates the binding limit of its limiter.
func TestViolationsOfTerseDecision(t *testing.T) {
	t.Parallel()
	limiter := func(name string, limits ...weir.Limit) *weir.Limiter {
		l, err := weir.New(weir.Config{Name: name, Store: terse{}, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, tt := range map[string]struct {
		levels []middleware.Level
		want   middleware.Violation
	}{
		"one limiter": {nil, middleware.Violation{Policy: "2-in-1h", Limiter: "users"}},
		"levels": {
			[]middleware.Level{{Limiter: limiter("org", weir.PerDay(3)), Key: weir.KeyStatic("acme")}},
			middleware.Violation{Policy: "3-in-1d", Limiter: "org"},
		},
	} {
		g := guard(t, middleware.Config{Limiter: limiter("users", weir.PerMinute(1), weir.PerHour(2)), Levels: tt.levels})
		w := &listening{ResponseRecorder: httptest.NewRecorder()}
		g.Check(w, request(t.Context()))
		if !slices.Equal(w.violated, []middleware.Violation{tt.want}) {
			t.Errorf("%s: %v", name, w.violated)
		}
	}
}

// TestLimitedPlan checks that OnLimited is told of the refusing plan under the name that
// clients read, although the narrower level's plan has the same name.
func TestLimitedPlan(t *testing.T) {
	t.Parallel()
	store := newLocal(t)
	plan := func(limit weir.Limit) func(*http.Request) ([]weir.Limit, error) {
		return func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{limit.WithName("plan")}, nil }
	}
	var policy string
	limit, err := middleware.New(middleware.Config{
		Limiter: on(t, store, "user", weir.PerHour(5)), Limits: plan(weir.PerHour(5)), Key: weir.KeyStatic("ann"),
		Levels:    []middleware.Level{{Limiter: on(t, store, "org", weir.PerHour(1)), Limits: plan(weir.PerHour(1)), Key: weir.KeyStatic("acme")}},
		OnLimited: func(_ http.ResponseWriter, _ *http.Request, d weir.Decision) { policy = d.Limit.Policy() },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	serve(h)
	const state = `"plan";r=4;t=720, "org:plan";r=0;t=3600`
	if got := serve(h).Header().Get("RateLimit"); policy != "org:plan" || got != state {
		t.Errorf("OnLimited is told of %q, the client of %s, want %s", policy, got, state)
	}
}
