package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// late is a context that ends a moment after its deadline. With a real one the timer of a
// connection, which has the same deadline, may fire first.
type late struct {
	context.Context
	deadline time.Time
}

func (c late) Deadline() (time.Time, bool) { return c.deadline, true }

// TestLookupsUntilTheDeadline: a lookup that ends at the request's deadline is no failure of
// the lookup. Over gRPC clients choose the deadline, and none passes unlimited by it.
func TestLookupsUntilTheDeadline(t *testing.T) {
	t.Parallel()
	lookUp := func(r *http.Request) error { // over a connection
		deadline, _ := r.Context().Deadline()
		time.Sleep(time.Until(deadline))
		return os.ErrDeadlineExceeded
	}
	key := func(r *http.Request) (string, error) { return "", lookUp(r) }
	cost := func(r *http.Request) (int64, error) { return 0, lookUp(r) }
	limits := func(r *http.Request) ([]weir.Limit, error) { return nil, lookUp(r) }
	for name, change := range map[string]func(*middleware.Config, *middleware.Level){
		"Key":    func(cfg *middleware.Config, _ *middleware.Level) { cfg.Key = key },
		"Cost":   func(cfg *middleware.Config, _ *middleware.Level) { cfg.Cost = cost },
		"Limits": func(cfg *middleware.Config, _ *middleware.Level) { cfg.Limits = limits },
		"Limits, closed": func(cfg *middleware.Config, _ *middleware.Level) {
			cfg.Limits, cfg.OnStoreFailure = limits, middleware.FailClosed
		},
		"a level's Key": func(_ *middleware.Config, l *middleware.Level) { l.Key = key },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				local := newLocal(t)
				cfg := middleware.Config{
					Limiter: on(t, local, "user", weir.PerHour(1)), Key: weir.KeyStatic("ann"),
					OnError: func(_ *http.Request, err error) { t.Error(err) },
				}
				team := middleware.Level{Limiter: on(t, local, "team", weir.PerHour(1)), Key: weir.KeyStatic("blue")}
				change(&cfg, &team)
				cfg.Levels = []middleware.Level{team}
				limit, err := middleware.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
				defer cancel()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request(late{ctx, time.Now().Add(time.Second)}))
				if w.Code != http.StatusServiceUnavailable {
					t.Errorf("status %d", w.Code)
				}
			})
		})
	}
}

// TestWorkUntilTheDeadline: a handler that fails at the request's deadline has worked, also where
// failures cost nothing.
func TestWorkUntilTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
		defer cancel()
		r := request(late{ctx, time.Now().Add(time.Second)})
		time.Sleep(time.Second)
		if cost := middleware.OnlySuccesses(r, middleware.Outcome{Status: http.StatusGatewayTimeout, Cost: 3}); cost != 3 {
			t.Errorf("cost %d, want 3", cost)
		}
	})
}
