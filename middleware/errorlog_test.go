package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

// logged returns the output of slog's default logger from now on. The test must not be
// parallel.
func logged(t *testing.T) *bytes.Buffer {
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(os.Stderr) // SetDefault changed it, too
	})
	var b bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
	return &b
}

const (
	secretKey    = "ann-4711"
	secretHeader = "token-0815"
)

// secretive is a request with a header that no log may have.
func secretive(ctx context.Context) *http.Request {
	r := request(ctx)
	r.Header.Set("X-User", secretKey)
	r.Header.Set("Authorization", "Bearer "+secretHeader)
	return r
}

// leaky is the error of a function that puts the key and a header into it.
func leaky(r *http.Request) error {
	return fmt.Errorf("no luck with %s and %q: %w", r.Header.Get("X-User"), r.Header.Get("Authorization"), os.ErrNotExist)
}

// cantSettle is a store that admits everything and settles nothing.
type cantSettle struct{ httpcases.Always }

func (cantSettle) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := httpcases.Always{}.Take(ctx, req)
	d.Receipt = "receipt"
	return d, err
}

func (cantSettle) Settle(context.Context, any, ...int64) error { return errors.New("settle: refused") }

// TestErrorsAreLogged checks that the log names the cause of every kind of error, and
// never a key or the value of a header.
func TestErrorsAreLogged(t *testing.T) {
	away := broken{errors.New("dial tcp 10.0.0.7:6379: connection refused")}
	limiter := func(s weir.Store, name string) *weir.Limiter { return on(t, s, name, weir.PerHour(1).WithName(name)) }
	for _, tt := range []struct {
		name  string
		cfg   middleware.Config
		level string
		want  []string
	}{
		{
			name: "the store is away, open", cfg: middleware.Config{Limiter: limiter(away, "api")},
			level: "WARN", want: []string{"the store failed", "connection refused"},
		},
		{
			name: "the store is away, closed", cfg: middleware.Config{Limiter: limiter(away, "api"), OnStoreFailure: middleware.FailClosed},
			level: "ERROR", want: []string{"the store failed", "connection refused"},
		},
		{
			name: "no plan", cfg: middleware.Config{Limits: func(*http.Request) ([]weir.Limit, error) { return nil, nil }},
			level: "ERROR", want: []string{"no plan", "middleware.Config.Limits: want a plan for every key", "got none"},
		},
		{
			name: "an invalid plan", cfg: middleware.Config{Limits: func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{{Rate: -1}}, nil }},
			level: "ERROR", want: []string{"the configuration is wrong", "Rate: want"},
		},
		{
			name: "the lookup of a plan fails", cfg: middleware.Config{Limits: func(r *http.Request) ([]weir.Limit, error) { return nil, leaky(r) }},
			level: "WARN", want: []string{"the lookup of a request's limits failed", "*fmt.wrapError *errors.errorString"},
		},
		{
			name: "the key function fails", cfg: middleware.Config{Key: func(r *http.Request) (string, error) { return "", leaky(r) }},
			level: "ERROR", want: []string{"the key function failed", "*fmt.wrapError *errors.errorString"},
		},
		{
			name: "a header's name that can't be", cfg: middleware.Config{Key: weir.KeyHeader("X User")},
			level: "ERROR", want: []string{"the key function failed", `KeyHeader.name: want a header's name, got`, `X User`},
		},
		{
			name: "the cost function fails", cfg: middleware.Config{Cost: func(r *http.Request) (int64, error) { return 0, leaky(r) }},
			level: "ERROR", want: []string{"the cost function failed", "*fmt.wrapError"},
		},
		{
			name: "settling fails", cfg: middleware.Config{Limiter: limiter(cantSettle{}, "api"), Settle: middleware.OnlyFailures},
			level: "WARN", want: []string{"settling failed", "settle: refused"},
		},
		{
			name: "a shadow fails", cfg: middleware.Config{Shadows: []*weir.Limiter{limiter(away, "planned")}},
			level: "WARN", want: []string{"a limit in shadow failed", "connection refused"},
		},
		{
			name: "a level's key function fails", cfg: middleware.Config{
				Limiter: limiter(levelStore, "api"),
				Levels: []middleware.Level{{
					Limiter: limiter(levelStore, "org"), Key: func(r *http.Request) (string, error) { return "", leaky(r) },
				}},
			},
			level: "ERROR", want: []string{"the key function failed", "*fmt.wrapError"},
		},
		{
			name: "a level has no plan", cfg: middleware.Config{
				Limiter: limiter(levelStore, "api"),
				Levels: []middleware.Level{{
					Limiter: limiter(levelStore, "org"), Key: weir.KeyStatic("acme"),
					Limits: func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{}, nil },
				}},
			},
			level: "ERROR", want: []string{"no plan"},
		},
		{
			name: "a status that refuses nothing", cfg: middleware.Config{
				Key:     func(*http.Request) (string, error) { return "", weir.ErrNoKey },
				OnNoKey: func(*http.Request, error) middleware.NoKey { return middleware.NoKey{Status: 200} },
			},
			level: "ERROR", want: []string{"the configuration is wrong", "OnNoKey"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := logged(t)
			cfg := tt.cfg
			if cfg.Limiter == nil {
				cfg.Limiter = limiter(httpcases.Always{}, "api")
			}
			if cfg.Key == nil {
				cfg.Key = weir.KeyHeader("X-User")
			}
			h, err := middleware.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			h(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), secretive(t.Context()))
			got := b.String()
			for _, want := range append(tt.want, "level="+tt.level, "limiter=api") {
				if !strings.Contains(got, want) {
					t.Errorf("logged %q, want %q in it", got, want)
				}
			}
			if strings.Count(got, "\n") != 1 || strings.Contains(got, secretKey) || strings.Contains(got, secretHeader) {
				t.Errorf("logged %q", got)
			}
		})
	}
}

var levelStore = httpcases.NewCounting().Store

// TestErrorsAreLoggedOncePerSecond checks that a kind of error gets a line per second,
// which counts the errors without a line. Kinds don't hide each other.
func TestErrorsAreLoggedOncePerSecond(t *testing.T) {
	b := logged(t)
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, middleware.Config{
			Limiter: on(t, broken{errors.New("away")}, "api", weir.PerHour(1)),
			Cost: func(r *http.Request) (int64, error) {
				if r.URL.Path == "/dear" {
					return 0, errors.New("too dear")
				}
				return 1, nil
			},
		})
		send := func(n int, path string) {
			for range n {
				r := request(t.Context())
				r.URL.Path = path
				g.Check(httptest.NewRecorder(), r)
			}
		}
		lines := func(want ...string) {
			t.Helper()
			got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			b.Reset()
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
			}
			for i := range want {
				if !strings.HasSuffix(got[i], want[i]) {
					t.Errorf("logged %q, want the end %q", got[i], want[i])
				}
			}
		}
		send(42, "/")
		send(3, "/dear")
		lines("error=\"weir: store: take: away\"", "types=*errors.errorString")
		time.Sleep(time.Second - 1)
		send(1, "/")
		if b.Len() > 0 {
			t.Errorf("logged %q within a second", b)
		}
		time.Sleep(time.Nanosecond)
		send(10, "/")
		lines("more=42")
		time.Sleep(time.Hour)
		send(1, "/dear")
		send(1, "/")
		lines("more=2", "more=9")
		time.Sleep(time.Second)
		send(1, "/")
		lines("error=\"weir: store: take: away\"")
	})
}

// TestOnErrorSilencesTheLog checks that a function in OnError gets all errors instead.
func TestOnErrorSilencesTheLog(t *testing.T) {
	b, told := logged(t), 0
	g := guard(t, middleware.Config{
		Limiter: on(t, broken{errors.New("away")}, "api", weir.PerHour(1)),
		OnError: func(*http.Request, error) { told++ },
	})
	for range 3 {
		g.Check(httptest.NewRecorder(), request(t.Context()))
	}
	if told != 3 || b.Len() > 0 {
		t.Errorf("OnError was called %d times, logged %q", told, b)
	}
}
