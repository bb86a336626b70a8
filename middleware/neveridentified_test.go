package middleware_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

func TestNeverIdentifiedIsLogged(t *testing.T) {
	b := logged(t)
	g := guard(t, middleware.Config{Limiter: on(t, httpcases.Always{}, "api", weir.PerHour(1)), Key: weir.KeyHeader("X-User")})
	for range 500 {
		if _, ok := g.Check(httptest.NewRecorder(), request(t.Context())); ok {
			t.Fatal("passed")
		}
	}
	got := b.String()
	for _, want := range []string{
		"level=WARN", "limiter=api", "mount the limiter after the authentication", "or hands it on elsewhere than in the request's context",
		"with KeyRoute inside the router",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q in it", got, want)
		}
	}
	if strings.Count(got, "\n") != 1 {
		t.Errorf("logged:\n%s", got)
	}
}
