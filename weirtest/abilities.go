package weirtest

import (
	"context"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// FailOthers makes every method but Take do nothing but return err. Nil ends that.
func (s *Store) FailOthers(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err
}

// called counts a call and returns the error of FailOthers, if any.
func (s *Store) called(count *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*count++
	return s.failing
}

// pass counts a call, fails by FailOthers, or passes the call to the wrapped store, which
// needs an ability A.
func pass[A any](s *Store, count *int, call func(base A) error) error {
	if err := s.called(count); err != nil {
		return err
	}
	if base, ok := s.base.(A); ok {
		return call(base)
	}
	return store.ErrUnsupported
}

// Cancel implements store.Canceler. The wrapped store never hears of units from
// Grant: they were charged nowhere.
func (s *Store) Cancel(ctx context.Context, of any) error {
	if of == (receipt{}) {
		return s.called(&s.counts.Cancels)
	}
	return pass(s, &s.counts.Cancels, func(base store.Canceler) error { return base.Cancel(ctx, of) })
}

// Settle implements store.Settler. The wrapped store never hears of units from
// Grant: they were charged nowhere.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	if of == (receipt{}) {
		return s.called(&s.counts.Settles)
	}
	return pass(s, &s.counts.Settles, func(base store.Settler) error { return base.Settle(ctx, of, costs...) })
}

// Reset implements store.Resetter.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	return pass(s, &s.counts.Resets, func(base store.Resetter) error { return base.Reset(ctx, scope, key) })
}

// Brake implements store.Braker.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	return pass(s, &s.counts.Brakes, func(base store.Braker) error { return base.Brake(ctx, charges, b) })
}

// WatchBrakes implements store.Braker. If the wrapped store is no store.Braker, the
// watch covers everything and never calls f.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	w := store.Watch(noBrakes{})
	if k, ok := s.base.(store.Braker); ok {
		w = k.WatchBrakes(f)
	}
	s.watch(1)
	return &watch{Watch: w, store: s}
}

func (s *Store) watch(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Watching += more
}

// watch is a store.Watch that counts as watching until it is stopped.
type watch struct {
	store.Watch
	store *Store
	once  sync.Once
}

func (w *watch) Stop() {
	w.Watch.Stop()
	w.once.Do(func() { w.store.watch(-1) })
}

// Release implements store.Holder.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	return pass(s, &s.counts.Releases, func(base store.Holder) error { return base.Release(ctx, scope, key, ids...) })
}

// Renew implements store.Holder.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	err = pass(s, &s.counts.Renews, func(base store.Holder) (err error) {
		lost, err = base.Renew(ctx, scope, key, lease, ids...)
		return err
	})
	return lost, err
}
