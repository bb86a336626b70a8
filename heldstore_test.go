package weir_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// heldStore is a local store a network away, which counts what it is asked for.
type heldStore struct {
	*localstore.Store
	trip  time.Duration          // there and back
	fault func(op string) error  // after the store has done it; nil: none
	away  func(op string) error  // before
	each  func(d store.Decision) // of each decision
	mu    sync.Mutex
	calls map[string]int
	ids   map[string]bool
}

func newHeldStore(tb testing.TB) *heldStore {
	tb.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return &heldStore{Store: s, trip: time.Millisecond, calls: map[string]int{}, ids: map[string]bool{}}
}

func (s *heldStore) call(op string, do func() error) error {
	s.mu.Lock()
	s.calls[op]++
	s.mu.Unlock()
	time.Sleep(s.trip / 2)
	if s.away != nil {
		if err := s.away(op); err != nil {
			return err
		}
	}
	err := do()
	time.Sleep(s.trip / 2)
	if s.fault != nil && err == nil {
		err = s.fault(op)
	}
	return err
}

func (s *heldStore) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	req.Charges = slices.Clone(req.Charges)
	err = s.call("take", func() error {
		s.mu.Lock()
		if req.Hold.Asked() {
			s.ids[req.Hold.ID] = true
		}
		s.mu.Unlock()
		d, err = s.Store.Take(context.WithoutCancel(ctx), req)
		if s.each != nil {
			s.each(d)
		}
		return err
	})
	if err != nil {
		return store.Decision{}, err
	}
	return d, ctx.Err()
}

func (s *heldStore) Cancel(ctx context.Context, receipt any) error {
	return s.call("cancel", func() error { return s.Store.Cancel(ctx, receipt) })
}

func (s *heldStore) Release(ctx context.Context, scope, key string, ids ...string) error {
	return s.call("release", func() error { return s.Store.Release(ctx, scope, key, ids...) })
}

func (s *heldStore) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	err = s.call("renew", func() error {
		lost, err = s.Store.Renew(ctx, scope, key, lease, ids...)
		return err
	})
	return lost, err
}

func (s *heldStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// wantHeld fails the test unless the store counts n leases of a key.
func (s *heldStore) wantHeld(t *testing.T, key string, n int64) {
	t.Helper()
	probe := func(most int64) store.Decision {
		d, err := s.Store.Take(context.Background(), store.Request{
			Charges: []store.Charge{{Key: key, Limit: store.Per(1, time.Second)}},
			Hold:    store.Hold{Max: most, ID: "probe", Lease: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if n > 0 && probe(n).Allowed {
		t.Errorf("fewer than %d leases of %q", n, key)
	}
	if d := probe(n + 1); !d.Allowed {
		t.Errorf("more than %d leases of %q", n, key)
	}
	_ = s.Store.Release(context.Background(), "", key, "probe")
}

// plenty refuses nobody in these tests.
var plenty = weir.PerSecond(1_000_000)

func newFlightLimiter(tb testing.TB, s weir.Store, most int64, change ...func(*weir.Config)) *weir.Limiter {
	tb.Helper()
	return newLimiter(tb, s, append([]func(*weir.Config){func(c *weir.Config) {
		c.Limits, c.InFlight = []weir.Limit{plenty}, most
	}}, change...)...)
}

func acquire(t *testing.T, l *weir.Limiter, key string) *weir.Lease {
	t.Helper()
	lease, err := l.Acquire(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// noFlights fails the test when the limiter keeps anything.
func noFlights(t *testing.T, l *weir.Limiter) {
	t.Helper()
	time.Sleep(100 * ms) // for the last release
	if keys, beats := l.Flights(); keys != 0 || beats {
		t.Errorf("%d keys are left, the heartbeat runs: %v", keys, beats)
	}
	nothingLeft(t, l)
}
