package middleware_test

import (
	"bytes"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestNeverIdentifiedIsLogged runs alone, as it changes the default logger.
func TestNeverIdentifiedIsLogged(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(os.Stderr) // which SetDefault changed, too
	})
	var logged bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	l, err := weir.New(weir.Config{Name: "api", Store: httpcases.Always{}, Limits: []weir.Limit{weir.PerHour(1)}})
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, middleware.Config{Limiter: l, Key: weir.KeyHeader("X-User")})
	for range 500 {
		if _, ok := g.Check(httptest.NewRecorder(), request(t.Context())); ok {
			t.Fatal("passed")
		}
	}
	got := logged.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") ||
		!strings.Contains(got, "mount the limiter after the authentication") || !strings.Contains(got, "limiter=api") {
		t.Errorf("logged:\n%s", got)
	}
}
