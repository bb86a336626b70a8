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
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
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

// asked is a store that keeps the context of the last call, which it answers when that ends.
type asked struct {
	*localstore.Store
	ctx context.Context
}

func (s *asked) Take(ctx context.Context, _ store.Request) (store.Decision, error) {
	s.ctx = ctx
	<-ctx.Done()
	return store.Decision{}, ctx.Err()
}

// TestDeadlineOfTheStore: clients of gRPC choose deadlines, and a connection of the store that
// misses one is closed. So the store has a second more. The request ends in time.
func TestDeadlineOfTheStore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*middleware.Config){
		"one limiter": func(*middleware.Config) {},
		"settled":     func(cfg *middleware.Config) { cfg.Settle = middleware.OnlySuccesses },
		"a plan": func(cfg *middleware.Config) {
			cfg.Limits = func(*http.Request) ([]weir.Limit, error) { return []weir.Limit{weir.PerHour(2)}, nil }
		},
		"levels": func(cfg *middleware.Config) {
			wide := on(t, cfg.Limiter.Config().Store, "wide", weir.PerHour(1))
			cfg.Levels = []middleware.Level{{Limiter: wide, Key: weir.KeyStatic("all")}}
		},
		"delayed": func(cfg *middleware.Config) { cfg.Delay = middleware.Delay{Max: time.Minute, MaxWaiting: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				local := &asked{Store: newLocal(t).(*localstore.Store)}
				cfg := middleware.Config{Limiter: on(t, local, "user", weir.PerHour(1)), Key: weir.KeyStatic("ann")}
				change(&cfg)
				limit, err := middleware.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				w, start := httptest.NewRecorder(), time.Now()
				limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") })).ServeHTTP(w, request(ctx))
				if took := time.Since(start); w.Code != http.StatusServiceUnavailable || took != time.Second {
					t.Errorf("status %d after %v", w.Code, took)
				}
				if deadline, _ := local.ctx.Deadline(); deadline != start.Add(2*time.Second) {
					t.Errorf("the store has until %v, %v after the start", deadline, deadline.Sub(start))
				}
			})
		})
	}
}
