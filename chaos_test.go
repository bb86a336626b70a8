package weir_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
)

// errChaos is a failure of the test's own.
var errChaos = errors.New("chaos")

// chaotic is a source of faults, safe for concurrent use.
type chaotic struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// one reports true once in n.
func (c *chaotic) one(n int) bool { return c.upTo(int64(n)) == 0 }

func (c *chaotic) upTo(n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Int64N(n)
}

// fault takes a time, and fails or panics now and then.
func (c *chaotic) fault() error {
	if c.one(3) {
		time.Sleep(time.Duration(c.upTo(int64(300 * ms))))
	}
	switch {
	case c.one(20):
		return errChaos
	case c.one(40):
		panic(errChaos)
	}
	return nil
}

// chaosStore is a store with faults on both ways.
type chaosStore struct {
	*localstore.Store
	*chaotic
}

func (s chaosStore) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := s.fault(); err != nil {
		return store.Decision{}, err
	}
	d, err := s.Store.Take(ctx, req)
	return d, errors.Join(err, s.fault())
}

func (s chaosStore) Cancel(ctx context.Context, receipt any) error {
	return errors.Join(s.fault(), s.Store.Cancel(ctx, receipt))
}

func (s chaosStore) Settle(ctx context.Context, receipt any, costs ...int64) error {
	return errors.Join(s.fault(), s.Store.Settle(ctx, receipt, costs...))
}

func (s chaosStore) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	return errors.Join(s.fault(), s.Store.Brake(ctx, charges, b))
}

func (s chaosStore) Release(ctx context.Context, scope, key string, ids ...string) error {
	return errors.Join(s.fault(), s.Store.Release(ctx, scope, key, ids...))
}

func (s chaosStore) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error) {
	if err := s.fault(); err != nil {
		return nil, err
	}
	return s.Store.Renew(ctx, scope, key, lease, ids...)
}

// TestChaosLeavesNothing: stores that are slow, fail and panic, Hooks, Costs, Settles and
// bases that panic, and callers that leave at any moment: each call ends, and nothing of
// it stays counted.
func TestChaosLeavesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Of(400)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	c := &chaotic{rng: rand.New(rand.NewPCG(seed, 7))}
	panics := func() bool {
		if c.one(50) {
			panic(errChaos)
		}
		return false
	}
	cfg := weir.Config{
		Store: chaosStore{localStore(t), c}, Limits: buckets(weir.PerSecond(20).WithBurst(8)),
		Hook: func(context.Context, weir.Event) { panics() },
	}
	switch seed % 4 {
	case 1:
		cfg.Limits = []weir.Limit{weir.PerSecond(20).By(weir.SlidingWindow), weir.PerMinute(500).By(weir.FixedWindow)}
	case 2:
		cfg.InFlight = 3
	case 3:
		cfg.MaxWaiters = 10
	}
	l := onLocal(t, cfg)
	wide := onLocal(t, weir.Config{Name: "wide", Store: cfg.Store, Limits: buckets(weir.PerSecond(30).WithBurst(20)), Hook: cfg.Hook})
	further := onLocal(t, weir.Config{Name: "further", Store: cfg.Store, Limits: buckets(weir.PerSecond(50).WithBurst(5)), Hook: cfg.Hook})
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := c.fault(); err != nil {
			return nil, err
		}
		h := headers("X-Cost", strconv.FormatInt(c.upTo(12)-2, 10), "RateLimit", `"api";r=`+strconv.FormatInt(c.upTo(20), 10)+`;t=1`)
		status := http.StatusOK
		if c.one(10) {
			status = http.StatusTooManyRequests
			h.Set("Retry-After", "1")
		}
		return &http.Response{StatusCode: status, Header: h, Request: r, Body: io.NopCloser(io.MultiReader(slowly(c.upTo(int64(50*ms))), errReader{c}))}, nil
	})
	tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
		cfg.Cost = func(*http.Request) (int64, error) { panics(); return c.upTo(6), nil }
		cfg.Settle = func(resp *http.Response, end *weir.BodyEnd) (int64, bool) {
			panics()
			n, _ := strconv.ParseInt(resp.Header.Get("X-Cost"), 10, 64)
			return n, end != nil || c.one(2)
		}
		cfg.Levels = []weir.TransportLevel{{Limiter: wide, Key: weir.KeyStatic("key")}}
		cfg.Upstream = &upstream.Reader{Bodies: true, Amend: func(*http.Response, *upstream.Signal) { panics() }}
	})
	call := func(ctx context.Context) {
		defer func() {
			if r := recover(); r != nil && r != errChaos {
				panic(r)
			}
		}()
		switch c.upTo(8) {
		case 4:
			if lease, err := l.TryAcquireN(ctx, "key", c.upTo(9)); err == nil {
				lease.Release()
			}
		case 5:
			_ = l.DoN(ctx, "key", c.upTo(9), func(context.Context) (int64, error) { panics(); return c.upTo(12), c.fault() })
		case 6:
			if r, d, err := weir.WaitLevels(ctx, time.Duration(c.upTo(int64(time.Second))), weir.Level{Limiter: wide, Key: "key"}, weir.Level{Limiter: further, Key: "key", Cost: 3}); err == nil && d.Allowed {
				_ = r.Settle(ctx, c.upTo(5))
			}
		case 7:
			if r, err := wide.Reserve(ctx, "key"); err == nil {
				_ = r.Cancel(ctx)
			}
		case 0:
			if lease, err := l.AcquireN(ctx, "key", c.upTo(9)); err == nil {
				defer lease.Release()
				time.Sleep(time.Duration(c.upTo(int64(100 * ms))))
			}
		case 1:
			_ = wide.WaitMax(ctx, "key", c.upTo(21), time.Duration(1+c.upTo(int64(time.Second))))
		default:
			resp, err := tr.RoundTrip(getRequest(t, ctx))
			if err != nil {
				return
			}
			defer func() { _ = resp.Body.Close() }()
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	}
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.upTo(int64(3*time.Second)))-100*ms)
				if c.one(3) {
					ctx = weir.InBackground(ctx)
				}
				if c.one(2) {
					time.AfterFunc(time.Duration(c.upTo(int64(time.Second))), cancel)
				}
				call(ctx)
				cancel()
			}
		})
	}
	wg.Wait()
	time.Sleep(10 * time.Minute)
	for _, l := range []*weir.Limiter{l, wide, further} {
		if waiting, held := l.Stats(); waiting+held != 0 || l.Laters() != 0 {
			t.Errorf("%d wait, %d leases and %d calls are left", waiting, held, l.Laters())
		}
		nothingLeft(t, l)
	}
	if n := tr.UnderWay(); n != 0 {
		t.Errorf("%d requests are under way", n)
	}
	if cfg.InFlight > 0 {
		if keys, beats := l.Flights(); keys != 0 || beats {
			t.Errorf("%d keys are left, the heartbeat runs: %v", keys, beats)
		}
	}
}

// errReader is a body that ends, or fails.
type errReader struct{ *chaotic }

func (r errReader) Read([]byte) (int, error) {
	if r.one(5) {
		return 0, errChaos
	}
	return 0, io.EOF
}
