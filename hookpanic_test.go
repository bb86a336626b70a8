package weir_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// TestHookPanicsInTheBackground: a Hook that panics on a goroutine of ours does not end
// the program, and nothing stays counted.
func TestHookPanicsInTheBackground(t *testing.T) {
	t.Parallel()
	refused := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: headers("Retry-After", "60"), Body: http.NoBody}, nil
	})
	send := func(t *testing.T, l *weir.Limiter, base http.RoundTripper) {
		tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
			cfg.Cost, cfg.Settle = func(*http.Request) (int64, error) { return 2, nil }, fromHeader
		})
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	hold := func(t *testing.T, l *weir.Limiter, while func()) {
		lease, err := l.Acquire(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		while()
		lease.Release()
	}
	down := func(context.Context) error { return errors.New("down") }
	for name, test := range map[string]struct {
		kind     weir.EventKind
		op       string // of store calls
		fails    bool   // the store does
		inFlight int64
		do       func(t *testing.T, l *weir.Limiter)
	}{
		"a brake":            {kind: weir.EventStoreCall, op: "brake", do: func(t *testing.T, l *weir.Limiter) { send(t, l, refused) }},
		"a brake that fails": {kind: weir.EventStoreCall, op: "brake", fails: true, do: func(t *testing.T, l *weir.Limiter) { send(t, l, refused) }},
		"a pause":            {kind: weir.EventPaused, do: func(t *testing.T, l *weir.Limiter) { send(t, l, refused) }},
		"a settlement": {kind: weir.EventSettled, do: func(t *testing.T, l *weir.Limiter) {
			send(t, l, answer("", http.Header{"X-Cost": {"1"}}))
		}},
		"a slot given back": {kind: weir.EventStoreCall, op: "cancel", do: func(t *testing.T, l *weir.Limiter) {
			_ = l.WaitN(t.Context(), "key", 3)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			_ = l.WaitN(ctx, "key", 3)
		}},
		"a release":            {kind: weir.EventStoreCall, op: "release", inFlight: 1, do: func(t *testing.T, l *weir.Limiter) { hold(t, l, func() {}) }},
		"a release that fails": {kind: weir.EventStoreCall, op: "release", fails: true, inFlight: 1, do: func(t *testing.T, l *weir.Limiter) { hold(t, l, func() {}) }},
		"a renewal": {kind: weir.EventStoreCall, op: "renew", inFlight: 1, do: func(t *testing.T, l *weir.Limiter) {
			hold(t, l, func() { time.Sleep(time.Minute) })
		}},
		"a lost lease": {kind: weir.EventLeaseLost, inFlight: 1, do: func(t *testing.T, l *weir.Limiter) {
			hold(t, l, func() {
				if err := l.Reset(t.Context(), "key"); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var panics atomic.Int64
				hook := func(_ context.Context, e weir.Event) {
					if e.Kind == test.kind && (e.Op == "" || e.Op == test.op) {
						panics.Add(1)
						panic("hook")
					}
				}
				s := &after{Store: localStore(t), first: func(context.Context) error { return nil }}
				if test.fails {
					s.first = down
				}
				l := onLocal(t, weir.Config{Store: s, Limits: buckets(weir.Per(3, time.Hour)), InFlight: test.inFlight, Lease: 0, Hook: hook})
				test.do(t, l)
				time.Sleep(time.Hour)
				if panics.Load() == 0 {
					t.Error("the hook did not panic")
				}
				if waiting, held := l.Stats(); waiting+held != 0 {
					t.Errorf("%d wait, %d leases are left", waiting, held)
				}
				nothingLeft(t, l)
			})
		})
	}
}

// Release fails as the other calls do.
func (a *after) Release(ctx context.Context, scope, key string, ids ...string) error {
	return a.do(ctx, func() error { return a.Store.Release(ctx, scope, key, ids...) })
}

// TestHooksThatAreNone: a nil function observes nothing, and a change of a fallback finds
// no Hook, or one that panics, without the end of the program.
func TestHooksThatAreNone(t *testing.T) {
	t.Parallel()
	var none weir.Hook
	l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(1)), Hook: none})
	if d, err := l.Allow(t.Context(), "key"); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	for name, hook := range map[string]weir.Hook{
		"nil": nil, "a nil function": none, "one that panics": func(context.Context, weir.Event) { panic("hook") },
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %v", name, r)
				}
			}()
			weir.ObserveFallback(hook, "redis")(store.Change{Err: errors.New("refused")})
		}()
	}
}
