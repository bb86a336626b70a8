package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

// TestContextDoesNotShowTheRequest: contexts end up in logs.
func TestContextDoesNotShowTheRequest(t *testing.T) {
	t.Parallel()
	limiter, err := weir.New(weir.Config{Name: "api", Store: httpcases.NewCounting(), Limits: []weir.Limit{weir.PerHour(10)}})
	if err != nil {
		t.Fatal(err)
	}
	mount, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyStatic("k")})
	if err != nil {
		t.Fatal(err)
	}
	served := false
	h := mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served = true
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(verb, r.Context())
			if strings.Contains(text, "secret") || !strings.Contains(text, "weir") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer secret")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if !served {
		t.Error("the handler was not reached")
	}
}

// once is a store whose first call fails.
type once struct {
	weir.Store
	calls int
}

func (s *once) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.calls++; s.calls == 1 {
		return store.Decision{}, errors.New("away")
	}
	return s.Store.Take(ctx, req)
}

// TestMountOverALevelThatFailedOpen: a mount leaves its own limiter to the mount further
// out, which failed open. The mount that fails closed counts the request nevertheless.
func TestMountOverALevelThatFailedOpen(t *testing.T) {
	t.Parallel()
	s := &once{Store: httpcases.NewCounting().Store}
	api, org := on(t, s, "api", weir.PerHour(1).WithName("api")), on(t, s, "org", weir.PerHour(10).WithName("org"))
	cfg := middleware.Config{Limiter: api, Key: weir.KeyStatic("k"), OnError: func(*http.Request, error) {}}
	wide := cfg
	wide.Levels = []middleware.Level{{Limiter: org, Key: weir.KeyStatic("all")}}
	closed := cfg
	closed.OnStoreFailure = middleware.FailClosed
	r := request(t.Context())
	for i, cfg := range []middleware.Config{cfg, wide, closed} {
		passed, ok := guard(t, cfg).Check(httptest.NewRecorder(), r)
		if !ok || passed == r {
			t.Fatalf("mount %d: passed %t, as it came %t", i, ok, passed == r)
		}
		r = passed
	}
	if d, err := api.Peek(t.Context(), "k"); err != nil || d.Remaining != 0 {
		t.Errorf("%d units left, error %v", d.Remaining, err)
	}
}
