package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func guard(t *testing.T, cfg middleware.Config) *middleware.Guard {
	t.Helper()
	if cfg.Limiter == nil {
		cfg.Limiter = httpcases.NewLimiter(t, httpcases.NewCounting(), weir.PerHour(1))
	}
	if cfg.Key == nil {
		cfg.Key = weir.KeyStatic("all")
	}
	g, err := middleware.NewGuard(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func request(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodPost, "/things?a=b", http.NoBody)
}

// TestWriterAndRequest checks that the ResponseWriter is the server's own and
// that the caller's request stays as it was.
func TestWriterAndRequest(t *testing.T) {
	t.Parallel()
	type ctxKey struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "value"))
	defer cancel()
	r, before := request(ctx), request(ctx)
	var inner *http.Request
	var writer http.ResponseWriter
	limit, err := middleware.New(middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)), Key: weir.KeyStatic("all"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { writer, inner = w, r })).ServeHTTP(w, r)
	if writer != http.ResponseWriter(w) {
		t.Errorf("the handler got another ResponseWriter: %T", writer)
	}
	if !reflect.DeepEqual(r, before) || inner == r {
		t.Error("the request was changed")
	}
	child, stop := context.WithCancel(inner.Context())
	defer stop()
	if inner.Context().Value(ctxKey{}) != "value" || child.Err() != nil {
		t.Error("the context lost its values")
	}
	cancel()
	<-child.Done()
	if !errors.Is(inner.Context().Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
		t.Error("the context did not end with the request's")
	}
}

// TestPattern checks that a limiter around a mux does not hide from outer
// handlers which pattern matched.
func TestPattern(t *testing.T) {
	t.Parallel()
	limit, err := middleware.New(middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)), Key: weir.KeyStatic("all"),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /things", func(http.ResponseWriter, *http.Request) {})
	r := request(t.Context())
	limit(mux).ServeHTTP(httptest.NewRecorder(), r)
	if r.Pattern != "POST /things" {
		t.Errorf("pattern %q", r.Pattern)
	}
}

// TestNothingForSkipped checks that a skipped request is handed on as it is, and that
// neither the key function nor the store is called.
func TestNothingForSkipped(t *testing.T) {
	t.Parallel()
	store := httpcases.NewCounting()
	g := guard(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)),
		Key:     func(*http.Request) (string, error) { t.Error("key asked for"); return "", nil },
		Skip:    func(*http.Request) bool { return true },
	})
	r, w := request(t.Context()), httptest.NewRecorder()
	passed, ok := g.Check(w, r)
	if passed != r || !ok || store.Takes.Load() != 0 || len(w.Header()) != 0 {
		t.Errorf("same request %t, passed %t, decisions %d, headers %v", passed == r, ok, store.Takes.Load(), w.Header())
	}
}

// TestOnError checks which errors OnError gets, and which pass.
func TestOnError(t *testing.T) {
	t.Parallel()
	cause := errors.New("lookup failed")
	key := func(err error) weir.KeyFunc {
		return func(*http.Request) (string, error) { return "", err }
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		cfg  middleware.Config
		want []error // that the error matches; nil: OnError gets none
	}{
		{name: "key", cfg: middleware.Config{Key: key(cause)}, want: []error{cause}},
		{name: "no key", cfg: middleware.Config{Key: key(weir.ErrNoKey)}},
		{name: "two keys", cfg: middleware.Config{Key: key(weir.ErrMalformedKey)}},
		{
			name: "a status that refuses nothing", want: []error{weir.ErrConfig},
			cfg: middleware.Config{Key: key(weir.ErrNoKey), OnNoKey: func(*http.Request, error) middleware.NoKey {
				return middleware.NoKey{Status: http.StatusOK}
			}},
		},
		{name: "client left", ctx: cancelled},
		{
			name: "cost", want: []error{cause},
			cfg: middleware.Config{Cost: func(*http.Request) (int64, error) { return 0, cause }},
		},
		{
			name: "wrong cost", want: []error{weir.ErrConfig},
			cfg: middleware.Config{Cost: func(*http.Request) (int64, error) { return -1, nil }},
		},
		{
			name: "limits", want: []error{cause, weir.ErrStore},
			cfg: middleware.Config{Limits: func(*http.Request) ([]weir.Limit, error) { return nil, cause }},
		},
		{
			name: "no limits", want: []error{weir.ErrConfig},
			cfg: middleware.Config{Limits: func(*http.Request) ([]weir.Limit, error) { return nil, nil }},
		},
		{
			name: "store, open", want: []error{cause, weir.ErrStore},
			cfg: middleware.Config{Limiter: httpcases.NewLimiter(t, broken{cause}, weir.PerHour(1))},
		},
		{
			name: "store, closed", want: []error{cause, weir.ErrStore},
			cfg: middleware.Config{
				Limiter:        httpcases.NewLimiter(t, broken{cause}, weir.PerHour(1)),
				OnStoreFailure: middleware.FailClosed,
			},
		},
	}
	for _, tt := range tests {
		for _, shadow := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				var told []error
				cfg := tt.cfg
				cfg.Shadow = shadow
				cfg.OnError = func(_ *http.Request, err error) { told = append(told, err) }
				ctx := tt.ctx
				if ctx == nil {
					ctx = t.Context()
				}
				guard(t, cfg).Check(httptest.NewRecorder(), request(ctx))
				if len(told) != min(1, len(tt.want)) {
					t.Fatalf("shadow %t: OnError got %v", shadow, told)
				}
				for _, want := range tt.want {
					if !errors.Is(told[0], want) {
						t.Errorf("shadow %t: OnError got %v, want %v", shadow, told[0], want)
					}
				}
			})
		}
	}
}

// TestWrongCostOfALevel: a cost below 0 of a wider level names that level's field.
func TestWrongCostOfALevel(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := weir.New(weir.Config{Name: "wide", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)),
		Levels: []middleware.Level{{
			Limiter: wide, Key: weir.KeyStatic("all"), Cost: func(*http.Request) (int64, error) { return -1, nil },
		}},
		OnError: func(_ *http.Request, err error) {
			if !errors.Is(err, weir.ErrConfig) || !strings.Contains(err.Error(), "middleware.Config.Levels[0].Cost") {
				t.Error(err)
			}
		},
	}
	w := httptest.NewRecorder()
	if _, ok := guard(t, cfg).Check(w, request(t.Context())); ok || w.Code != http.StatusInternalServerError {
		t.Errorf("passed %t, status %d", ok, w.Code)
	}
}

// TestWrongCostIsNoOutage: a cost below 0 is answered with 500 also while the lookup of the
// limits fails, whatever OnStoreFailure says.
func TestWrongCostIsNoOutage(t *testing.T) {
	t.Parallel()
	for _, levels := range []bool{false, true} {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := middleware.Config{
			Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)),
			Cost:    func(*http.Request) (int64, error) { return -1, nil },
			Limits:  func(*http.Request) ([]weir.Limit, error) { return nil, errors.New("lookup failed") },
			OnError: func(_ *http.Request, err error) {
				if !errors.Is(err, weir.ErrConfig) || !strings.Contains(err.Error(), "Config.Cost") {
					t.Errorf("levels %t: %v", levels, err)
				}
			},
		}
		if levels {
			wide, err := weir.New(weir.Config{Name: "wide", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Levels = []middleware.Level{{Limiter: wide, Key: weir.KeyStatic("all")}}
		}
		w := httptest.NewRecorder()
		if _, ok := guard(t, cfg).Check(w, request(t.Context())); ok || w.Code != http.StatusInternalServerError {
			t.Errorf("levels %t: passed %t, status %d", levels, ok, w.Code)
		}
	}
}

type broken struct{ err error }

func (b broken) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{}, b.err
}

// TestShadowReports checks that a limiter in shadow charges, and that its hook gets the
// refusals.
func TestShadowReports(t *testing.T) {
	t.Parallel()
	var refused, allowed int
	l, err := weir.New(weir.Config{
		Name: "api", Store: httpcases.NewCounting(), Limits: []weir.Limit{weir.PerHour(2)},
		Hook: func(_ context.Context, e weir.Event) {
			switch {
			case e.Kind != weir.EventDecision:
			case e.Decision.Allowed:
				allowed++
			default:
				refused++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, middleware.Config{Limiter: l, Shadow: true})
	for range 5 {
		if _, ok := g.Check(httptest.NewRecorder(), request(t.Context())); !ok {
			t.Error("refused")
		}
	}
	if allowed != 2 || refused != 3 {
		t.Errorf("the hook got %d allowed and %d refused", allowed, refused)
	}
}

// leaving is a store whose clients leave while it settles.
type leaving struct {
	weir.Store
	leave func()
	err   error // that a store which heeds its context would have returned
}

func (l *leaving) Settle(ctx context.Context, receipt any, costs ...int64) error {
	l.leave()
	if l.err = ctx.Err(); l.err != nil {
		return l.err
	}
	return l.Store.(store.Settler).Settle(ctx, receipt, costs...)
}

// TestSettlingOutlivesTheClient checks that a request is settled even if its client leaves
// meanwhile.
func TestSettlingOutlivesTheClient(t *testing.T) {
	t.Parallel()
	for name, levels := range map[string]bool{"one limiter": false, "levels": true} {
		ctx, cancel := context.WithCancel(t.Context())
		store := &leaving{Store: httpcases.NewCounting().Store, leave: cancel}
		cfg := middleware.Config{Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Settle: middleware.OnlyFailures}
		if levels {
			wide, err := weir.New(weir.Config{Name: "wide", Store: store, Limits: []weir.Limit{weir.PerDay(1)}})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Levels = []middleware.Level{{Limiter: wide, Key: weir.KeyStatic("wide")}}
		}
		g := guard(t, cfg)
		r := request(ctx)
		passed, ok := g.Check(httptest.NewRecorder(), r)
		if !ok {
			t.Fatal(name, ": refused")
		}
		g.Settle(r, passed, 200, 0, true)
		if _, ok := g.Check(httptest.NewRecorder(), request(t.Context())); !ok || store.err != nil || ctx.Err() == nil {
			t.Errorf("%s: passed %t after settling, %v", name, ok, store.err)
		}
	}
}

// TestPlanChange checks that a plan which changes holds from the next request
// on, upwards and downwards.
func TestPlanChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := []weir.Limit{weir.PerHour(1).WithName("free")}
		g := guard(t, middleware.Config{Limits: func(*http.Request) ([]weir.Limit, error) { return plan, nil }})
		check := func(want bool, policy string) {
			t.Helper()
			w := httptest.NewRecorder()
			if _, ok := g.Check(w, request(t.Context())); ok != want || w.Header().Get("RateLimit-Policy") != policy {
				t.Errorf("passed %t, policy %s, want %t, %s", ok, w.Header().Get("RateLimit-Policy"), want, policy)
			}
		}
		const free, pro = `"free";q=1;w=3600`, `"pro";q=1000;w=1`
		check(true, free)
		check(false, free)
		plan = []weir.Limit{weir.PerSecond(1000).WithName("pro")}
		check(false, pro) // the share that was used carries over
		time.Sleep(time.Second)
		check(true, pro)
		plan = []weir.Limit{weir.PerHour(1).WithName("free")}
		check(false, free)
	})
}

// TestZeroGuard checks that a zero Guard lets no request pass.
func TestZeroGuard(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if _, ok := new(middleware.Guard).Check(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody)); ok || w.Code != http.StatusInternalServerError {
		t.Errorf("passes: %t, status %d", ok, w.Code)
	}
}

// TestHooksMayKeepDecisions checks that an event does not change after Observe, for a Hook
// that hands it on to another goroutine.
func TestHooksMayKeepDecisions(t *testing.T) {
	t.Parallel()
	limits := []weir.Limit{weir.PerSecond(1), weir.PerMinute(10)}
	delay := middleware.Delay{Max: 5 * time.Second, MaxWaiting: 1}
	for name, cfg := range map[string]middleware.Config{
		"at once":           {},
		"delayed":           {Delay: delay},
		"delayed by a plan": {Delay: delay, Limits: func(*http.Request) ([]weir.Limit, error) { return limits, nil }},
		"settled":           {Delay: delay, Settle: middleware.OnlyFailures},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				var kept []weir.Decision
				var told []string
				cfg.Limiter, err = weir.New(weir.Config{Name: "api", Store: store, Limits: limits, Hook: func(_ context.Context, e weir.Event) {
					if e.Kind == weir.EventDecision {
						kept, told = append(kept, e.Decision), append(told, fmt.Sprintf("%+v", e.Decision))
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				g := guard(t, cfg)
				for range 3 {
					g.Check(httptest.NewRecorder(), request(t.Context()))
				}
				for i := range kept {
					if now := fmt.Sprintf("%+v", kept[i]); now != told[i] {
						t.Errorf("the hook got %s, which is now %s", told[i], now)
					}
				}
				if len(kept) != 3 {
					t.Errorf("the hook got %d decisions", len(kept))
				}
			})
		})
	}
}

// TestPenaltyIsAnEvent: the Hook of Limiter observes that a penalty pauses the key.
func TestPenaltyIsAnEvent(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var paused []string
	limiter := func(name string) *weir.Limiter {
		l, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{weir.PerHour(1)}, Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventPaused {
				paused = append(paused, fmt.Sprint(e.Scope, " by ", e.By, " for ", e.Pause))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	g := guard(t, middleware.Config{Limiter: limiter("api"), Penalty: middleware.Penalty{Limiter: limiter("refusals"), For: time.Minute}})
	for range 2 {
		g.Check(httptest.NewRecorder(), request(t.Context()))
	}
	if want := "[api by penalty for 1m0s]"; fmt.Sprint(paused) != want {
		t.Errorf("the hook got %v, want %s", paused, want)
	}
}
