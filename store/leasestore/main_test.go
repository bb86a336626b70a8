package leasestore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// behind is the store behind, and counts its calls.
type behind struct {
	*localstore.Store
	takes, settles atomic.Int64
	err            atomic.Pointer[error]
}

func newBehind(t testing.TB) *behind {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &behind{Store: s}
}

func (b *behind) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	b.takes.Add(1)
	if err := b.err.Load(); err != nil {
		return store.Decision{}, *err
	}
	return b.Store.Take(ctx, req)
}

func (b *behind) Settle(ctx context.Context, receipt any, costs ...int64) error {
	b.settles.Add(1)
	return b.Store.Settle(ctx, receipt, costs...)
}

func open(t testing.TB, cfg leasestore.Config) *leasestore.Store {
	t.Helper()
	s, err := leasestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func done(t testing.TB, s *leasestore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Scope: "api", Key: key, Limit: l, Cost: cost})
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

// spend takes units until one is refused, and returns the number of admitted ones.
func spend(t testing.TB, s store.Store, most int, limits ...store.Limit) (n int) {
	t.Helper()
	for range most {
		if !take(t, s, charge("k", 1, limits...)).Allowed {
			return n
		}
		n++
	}
	return n
}

// paced makes single calls of a key at a distance, and returns the numbers of Takes and
// Settles of the store behind.
func paced(t *testing.T, units int64, calls int, every time.Duration, limit store.Limit) (takes, settles int64) {
	t.Helper()
	b := newBehind(t)
	s := open(t, leasestore.Config{Store: b, Units: units})
	for range calls {
		before := b.takes.Load()
		if d := take(t, s, charge("k", 1, limit)); (d.Source == store.SourceLease) != (b.takes.Load() == before) {
			t.Errorf("decided by %v, after %d calls of the store", d.Source, b.takes.Load()-before)
		}
		time.Sleep(every)
	}
	takes = b.takes.Load()
	time.Sleep(2 * leasestore.DefaultFor)
	done(t, s)
	return takes, b.settles.Load()
}

// customers returns n keys.
func customers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("customer-%08d", i)
	}
	return list
}
