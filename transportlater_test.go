package weir_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// after is a store. Its calls that follow a response call a function first.
type after struct {
	*localstore.Store
	first func(ctx context.Context) error
	made  atomic.Int64 // calls that have ended
	under atomic.Int64 // calls that have not
}

func (a *after) do(ctx context.Context, call func() error) error {
	a.under.Add(1)
	defer a.under.Add(-1)
	if err := a.first(ctx); err != nil {
		return err
	}
	defer a.made.Add(1)
	return call()
}

func (a *after) Settle(ctx context.Context, receipt any, costs ...int64) error {
	return a.do(ctx, func() error { return a.Store.Settle(ctx, receipt, costs...) })
}

func (a *after) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	return a.do(ctx, func() error { return a.Store.Brake(ctx, charges, b) })
}

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// sleeps returns a call that takes some time, whatever its context.
func sleeps(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// TestHangingStoreHoldsNoResponseUp: a response and its body come at most a few
// milliseconds late, however long the store takes for the calls after them.
func TestHangingStoreHoldsNoResponseUp(t *testing.T) {
	t.Parallel()
	const deadline, most = 50 * ms, 20 * ms
	refused := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: headers("Retry-After", "60"), Body: http.NoBody}, nil
	})
	unreachable := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}
	})
	costs := http.Header{"X-Cost": {"30"}}
	for name, c := range map[string]struct {
		base   http.RoundTripper
		settle weir.SettleFunc
		levels int // further ones, that settle too
	}{
		"a refusal":                      {base: refused},
		"a cost by a header":             {base: answer("", costs), settle: fromHeader},
		"a cost by a header, two levels": {base: answer("", costs), settle: fromHeader, levels: 1},
		"a cost by the body's end":       {base: answer("hello", nil), settle: fromBytes},
		"a cost by the end, two levels":  {base: answer("hello", nil), settle: fromBytes, levels: 1},
		"no connection":                  {base: unreachable, settle: fromHeader},
	} {
		for how, hang := range map[string]func(context.Context) error{"with its context": hangs, "for 5 s": sleeps(5 * time.Second)} {
			t.Run(name+", it hangs "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := &after{Store: localStore(t), first: hang}
					limiter := func(name string) *weir.Limiter {
						return onLocal(t, weir.Config{Name: name, Store: s, Limits: buckets(weir.Per(1000, time.Hour))})
					}
					cost := func(*http.Request) (int64, error) { return 100, nil }
					tr := overLimiter(t, limiter("first"), c.base, func(cfg *weir.TransportConfig) {
						cfg.Cost, cfg.Settle = cost, c.settle
						for range c.levels {
							cfg.Levels = append(cfg.Levels, weir.TransportLevel{Limiter: limiter("further"), Key: weir.KeyStatic("key"), Cost: cost, Settle: c.settle})
						}
					})
					ctx, cancel := context.WithTimeout(t.Context(), deadline)
					defer cancel()
					start := time.Now()
					if resp, err := tr.RoundTrip(getRequest(t, ctx)); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					if took := time.Since(start); took > most {
						t.Errorf("the response took %v, want at most %v", took, most)
					}
					time.Sleep(10 * time.Second)
				})
			})
		}
	}
}

// TestLookHoldsNoResponseUp: 20 responses raise the same doubt at once. One of them looks
// at the store, which takes a while. None waits for the look, and its answer is heeded.
func TestLookHoldsNoResponseUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAskedAgain(t, func(context.Context) error { time.Sleep(300 * ms); return nil })
		said := headers("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "3", "X-RateLimit-Reset", "60")
		base := &scriptedBase{steps: []scriptedStep{{status: http.StatusOK, header: said}}, hold: func(int, *http.Request) { time.Sleep(ms) }}
		l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: buckets(weir.PerMinute(100))})
		tr := overLimiter(t, l, base, nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				start := time.Now()
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
				if took := time.Since(start); took > 25*ms {
					t.Errorf("a response took %v", took)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		if n := s.looks.Load(); n != 1 {
			t.Errorf("%d looks at the key, want 1", n)
		}
		if _, err := l.Reserve(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Reserve(t.Context(), "key"); err != nil || d.Delay() < 10*time.Second {
			t.Errorf("the next units are %v apart (%v), want the 3 units spread over 60 s", d.Delay(), err)
		}
	})
}

// TestManyResponsesAtOnce: the calls of the store after many responses run on a bounded
// number of goroutines, and no caller waits long for them. If the store answers, none of
// them is lost.
func TestManyResponsesAtOnce(t *testing.T) {
	t.Parallel()
	const responses, all = 3 * weir.MaxLater, weir.MaxLater + weir.MaxLaterQueue
	for name, c := range map[string]struct {
		store     func(ctx context.Context) error
		responses int64
		most      int64 // calls under way when all callers are back
		made      int64
		lost      int64 // calls that have waited too long, or that are too many
	}{
		"the store answers":          {sleeps(6 * ms), responses, 0, responses, 0},
		"the store is slow":          {sleeps(500 * ms), responses, weir.MaxLater, responses, 0},
		"the store hangs":            {hangs, responses, weir.MaxLater, 0, weir.MaxLater},
		"the store hangs for 5 s":    {sleeps(5 * time.Second), responses, weir.MaxLater, weir.MaxLater, responses - weir.MaxLater},
		"more responses than may be": {sleeps(10 * ms), all + 100, weir.MaxLater, all, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &after{Store: localStore(t), first: c.store}
				var lost atomic.Int64
				l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: buckets(weir.Per(1e6, time.Hour)), Hook: func(_ context.Context, e weir.Event) {
					if e.Kind == weir.EventStoreCall && errors.Is(e.Err, weir.ErrStore) {
						lost.Add(1)
					}
				}})
				tr := overLimiter(t, l, answer("", http.Header{"X-Cost": {"30"}}), func(cfg *weir.TransportConfig) {
					cfg.Cost, cfg.Settle = func(*http.Request) (int64, error) { return 100, nil }, fromHeader
				})
				var wg sync.WaitGroup
				start := time.Now()
				for range c.responses {
					wg.Go(func() {
						resp, err := tr.RoundTrip(getRequest(t, t.Context()))
						if err != nil {
							t.Error(err)
							return
						}
						_ = resp.Body.Close()
					})
				}
				wg.Wait()
				if took := time.Since(start); took > 20*ms {
					t.Errorf("the responses took %v, want at most 20 ms", took)
				}
				if n := s.under.Load(); n > c.most {
					t.Errorf("%d calls of the store are under way, want at most %d", n, c.most)
				}
				time.Sleep(10 * time.Second)
				if n := s.made.Load(); n != c.made {
					t.Errorf("%d costs were settled, want %d", n, c.made)
				}
				if n := lost.Load(); n != c.lost {
					t.Errorf("the hook saw %d failures, want %d", n, c.lost)
				}
				if n := l.Laters(); n != 0 {
					t.Errorf("%d calls are under way still", n)
				}
			})
		})
	}
}

// TestPanicAfterAResponse: a panic of the store in the background ends no program. The
// hook sees a failure.
func TestPanicAfterAResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Value
		l := onLocal(t, weir.Config{
			Name: "api", Limits: buckets(weir.PerHour(1000)),
			Store: &after{Store: localStore(t), first: func(context.Context) error { panic("boom") }},
			Hook: func(_ context.Context, e weir.Event) {
				if e.Kind == weir.EventStoreCall && errors.Is(e.Err, weir.ErrStore) {
					failed.Store(e.Err)
				}
			},
		})
		tr := overLimiter(t, l, &scriptedBase{steps: []scriptedStep{{status: http.StatusTooManyRequests, after: "60"}}}, nil)
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		synctest.Wait()
		if err, _ := failed.Load().(error); !errors.Is(err, weir.ErrStore) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("the hook saw %v", err)
		}
	})
}
