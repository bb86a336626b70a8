package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

func keyGuard(t *testing.T, store weir.Store, failure middleware.StoreFailure) *middleware.KeyGuard {
	t.Helper()
	g, err := middleware.NewKeyGuard(httpcases.NewLimiter(t, store, weir.PerHour(1)), failure)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// keyed is a store that notes the keys that it is asked about.
type keyed struct {
	weir.Store
	longest int
}

func (k *keyed) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	k.longest = max(k.longest, len(req.Charges[0].Key))
	return k.Store.Take(ctx, req)
}

// hanging is a store that never answers.
type hanging struct{}

func (hanging) Take(ctx context.Context, _ store.Request) (store.Decision, error) {
	<-ctx.Done()
	return store.Decision{}, ctx.Err()
}

// TestKeyGuardBounds checks that long keys are told apart, and kept short.
func TestKeyGuardBounds(t *testing.T) {
	t.Parallel()
	store := &keyed{Store: httpcases.NewCounting()}
	g := keyGuard(t, store, middleware.FailOpen)
	long := strings.Repeat("203.0.113.7, ", 70_000)
	for i, tt := range []struct {
		key  string
		want bool
	}{{long, true}, {long, false}, {long + "1", true}, {"ann", true}, {"ann", false}} {
		if d, err := g.Allow(t.Context(), tt.key); d.Allowed != tt.want || err != nil {
			t.Errorf("%d: %t, %v", i, d.Allowed, err)
		}
	}
	if store.longest > 1200 {
		t.Errorf("a key of %d bytes", store.longest)
	}
}

func TestKeyGuardFailures(t *testing.T) {
	t.Parallel()
	away := broken{errors.New("away")}
	cancelled := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	brief := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	for name, tt := range map[string]struct {
		store   weir.Store
		failure middleware.StoreFailure
		key     string
		ctx     func(context.Context) context.Context
		want    error // nil: allowed
		takes   time.Duration
	}{
		"a store that is away":                     {store: away, key: "ann"},
		"the same, failing closed":                 {store: away, key: "ann", failure: middleware.FailClosed, want: weir.ErrStore},
		"a store that hangs":                       {store: hanging{}, key: "ann", takes: 5 * time.Second},
		"the same, failing closed, after 5 s":      {store: hanging{}, key: "ann", failure: middleware.FailClosed, want: weir.ErrStore, takes: 5 * time.Second},
		"nobody":                                   {store: away, want: weir.ErrEmptyKey},
		"a request that has ended is not let pass": {store: away, key: "ann", ctx: cancelled, want: context.Canceled},
		"one that ends while it waits":             {store: hanging{}, key: "ann", ctx: brief, want: context.DeadlineExceeded, takes: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				began := time.Now()
				d, err := keyGuard(t, tt.store, tt.failure).Allow(ctx, tt.key)
				if d.Allowed != (tt.want == nil) || !errors.Is(err, tt.want) || time.Since(began) != tt.takes {
					t.Errorf("%t, %v after %v", d.Allowed, err, time.Since(began))
				}
			})
		})
	}
}

func TestKeyGuardMistakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limiter *weir.Limiter
		failure middleware.StoreFailure
		field   string
	}{
		"no limiter":      {nil, 0, "limiter"},
		"a zero limiter":  {new(weir.Limiter), 0, "limiter"},
		"calls in flight": {inFlight(t, newLocal(t), ""), 0, "limiter"},
		"another failure": {httpcases.NewLimiter(t, hanging{}, weir.PerHour(1)), 9, "failure"},
	} {
		var mistake *weir.ConfigError
		if g, err := middleware.NewKeyGuard(tt.limiter, tt.failure); g != nil || !errors.As(err, &mistake) || mistake.Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetryAfterOf(t *testing.T) {
	t.Parallel()
	for retry, want := range map[time.Duration]string{
		weir.Never: "", 0: "1", 1: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600",
	} {
		if got := middleware.RetryAfter(&weir.Decision{RetryAfter: retry}); got != want {
			t.Errorf("%v: %q, want %q", retry, got, want)
		}
	}
}
