package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/internal/modelstore"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// primary is a local store that can be away in several ways.
type primary struct {
	mu    sync.Mutex
	store *modelstore.Store
	err   error         // of each call
	after time.Duration // the time of a call
	calls atomic.Int64
}

func newPrimary(t testing.TB) *primary {
	t.Helper()
	return &primary{store: modelstore.New()}
}

func (p *primary) set(err error, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.after = err, after
}

// forget empties the primary's memory.
func (p *primary) forget(t testing.TB) {
	s := newPrimary(t).store
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store = s
}

func (p *primary) now() (*modelstore.Store, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store, p.after, p.err
}

// Take ignores its context, as a client with its own timeouts does.
func (p *primary) Take(_ context.Context, req store.Request) (store.Decision, error) {
	p.calls.Add(1)
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return store.Decision{}, err
	}
	return s.Take(context.Background(), req)
}

func (p *primary) Cancel(_ context.Context, receipt any) error {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return err
	}
	return s.Cancel(context.Background(), receipt)
}

func (p *primary) Settle(_ context.Context, receipt any, costs ...int64) error {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return err
	}
	return s.Settle(context.Background(), receipt, costs...)
}

func (p *primary) Restore(_ context.Context, m store.Memory) (bool, error) {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return false, err
	}
	return s.Restore(context.Background(), m)
}

func (p *primary) Reset(_ context.Context, scope, key string) error {
	s, _, _ := p.now()
	return s.Reset(context.Background(), scope, key)
}

func (p *primary) Brake(_ context.Context, charges []store.Charge, b store.Brake) error {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return err
	}
	return s.Brake(context.Background(), charges, b)
}

func (p *primary) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	s, _, _ := p.now()
	return s.WatchBrakes(f)
}

func (p *primary) Release(_ context.Context, scope, key string, ids ...string) error {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return err
	}
	return s.Release(context.Background(), scope, key, ids...)
}

func (p *primary) Renew(_ context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error) {
	s, after, err := p.now()
	time.Sleep(after)
	if err != nil {
		return nil, err
	}
	return s.Renew(context.Background(), scope, key, lease, ids...)
}

func open(t testing.TB, cfg fallback.Config) *fallback.Store {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := fallback.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}

func take(t testing.TB, s store.Store, req store.Request) store.Decision {
	t.Helper()
	d, err := s.Take(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func every(rate int64, period time.Duration) []store.Limit {
	var all []store.Limit
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		all = append(all, store.Per(rate, period).By(a))
	}
	return all
}

var (
	errAway   = fmt.Errorf("dial: %w", syscall.ECONNREFUSED) // opens the breaker at once
	errBroken = errors.New("connection reset")
)

// meet makes the primary answer a call. Earlier calls wait longer for it.
func meet(t testing.TB, s *fallback.Store) {
	t.Helper()
	if d := take(t, s, charge("another", 1, store.Per(1000, time.Second))); d.Degraded {
		t.Fatalf("the primary is not there: %+v", d)
	}
}
