package middleware_test

import (
	"errors"
	"net/http"
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

// TestEachLevelNeverIdentifiedIsLogged checks that the log has a line for each of the levels
// that find out with the same request.
func TestEachLevelNeverIdentifiedIsLogged(t *testing.T) {
	b := logged(t)
	level := func(name string) middleware.Level {
		return middleware.Level{Limiter: on(t, levelStore, name, weir.PerHour(1)), Key: weir.KeyHeader("X-" + name), SkipNoKey: true}
	}
	g := guard(t, middleware.Config{
		Limiter: on(t, levelStore, "api", weir.PerHour(1)), Key: weir.KeyHeader("X-User"),
		OnNoKey: func(*http.Request, error) middleware.NoKey { return middleware.NoKey{Key: "anonymous"} },
		Levels:  []middleware.Level{level("team"), level("org")},
	})
	for range 300 {
		g.Check(httptest.NewRecorder(), request(t.Context()))
	}
	got := b.String()
	for _, want := range []string{"level team: ", "level org: "} {
		if !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q in it", got, want)
		}
	}
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("%d lines, want 3:\n%s", n, got)
	}
}

// TestLevelNeverIdentified checks that OnError gets ErrNeverIdentified once from a level for
// which no request has a key, skipped or not.
func TestLevelNeverIdentified(t *testing.T) {
	for _, tt := range []struct {
		name string
		skip bool
		org  int // the request that has one
		want int
	}{
		{"refused", false, -1, 1},
		{"skipped", true, -1, 1},
		{"one has an organisation", true, 50, 0},
	} {
		var told []error
		n := -1
		g := guard(t, middleware.Config{
			Limiter: on(t, httpcases.Always{}, "api", weir.PerHour(1)), Key: weir.KeyStatic("ann"),
			Levels: []middleware.Level{{
				Limiter: on(t, httpcases.Always{}, "org", weir.PerHour(1)), SkipNoKey: tt.skip,
				Key: func(*http.Request) (string, error) {
					if n == tt.org {
						return "an organisation", nil
					}
					return "", weir.ErrNoKey
				},
			}},
			OnError: func(_ *http.Request, err error) { told = append(told, err) },
		})
		for n = range 300 {
			g.Check(httptest.NewRecorder(), request(t.Context()))
		}
		if len(told) != tt.want || tt.want == 1 && (!errors.Is(told[0], middleware.ErrNeverIdentified) || !strings.Contains(told[0].Error(), "org")) {
			t.Errorf("%s: OnError got %q, want %d errors", tt.name, told, tt.want)
		}
	}
}
