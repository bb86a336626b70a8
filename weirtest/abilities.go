package weirtest

import (
	"context"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// FailCancel makes every Cancel do nothing but return err. Nil ends that.
func (s *Store) FailCancel(err error) { s.fail(cancel, err) }

// FailSettle makes every Settle do nothing but return err. Nil ends that.
func (s *Store) FailSettle(err error) { s.fail(settle, err) }

// FailReset makes every Reset do nothing but return err. Nil ends that.
func (s *Store) FailReset(err error) { s.fail(reset, err) }

// FailBrake makes every Brake do nothing but return err. Nil ends that.
func (s *Store) FailBrake(err error) { s.fail(brake, err) }

// FailRelease makes every Release do nothing but return err. Nil ends that.
func (s *Store) FailRelease(err error) { s.fail(release, err) }

// FailRenew makes every Renew do nothing but return err. Nil ends that.
func (s *Store) FailRenew(err error) { s.fail(renew, err) }

func (s *Store) fail(m method, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil {
		s.failing = make(map[method]error)
	}
	s.failing[m] = err
}

// called counts a call and returns the error set for it, if any.
func (s *Store) called(m method) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	switch m {
	case cancel:
		c.Cancels++
	case settle:
		c.Settles++
	case reset:
		c.Resets++
	case brake:
		c.Brakes++
	case release:
		c.Releases++
	case renew:
		c.Renews++
	}
	return s.failing[m]
}

// Cancel implements store.Canceler. The wrapped store never hears of units from
// Grant: they were charged nowhere.
func (s *Store) Cancel(ctx context.Context, of any) error {
	if err := s.called(cancel); err != nil || of == (receipt{}) {
		return err
	}
	if c, ok := s.base.(store.Canceler); ok {
		return c.Cancel(ctx, of)
	}
	return store.ErrUnsupported
}

// Settle implements store.Settler. The wrapped store never hears of units from
// Grant: they were charged nowhere.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	if err := s.called(settle); err != nil || of == (receipt{}) {
		return err
	}
	if c, ok := s.base.(store.Settler); ok {
		return c.Settle(ctx, of, costs...)
	}
	return store.ErrUnsupported
}

// Reset implements store.Resetter.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := s.called(reset); err != nil {
		return err
	}
	if r, ok := s.base.(store.Resetter); ok {
		return r.Reset(ctx, scope, key)
	}
	return store.ErrUnsupported
}

// Brake implements store.Braker.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if err := s.called(brake); err != nil {
		return err
	}
	if k, ok := s.base.(store.Braker); ok {
		return k.Brake(ctx, charges, b)
	}
	return store.ErrUnsupported
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
	if err := s.called(release); err != nil {
		return err
	}
	if h, ok := s.base.(store.Holder); ok {
		return h.Release(ctx, scope, key, ids...)
	}
	return store.ErrUnsupported
}

// Renew implements store.Holder.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	if err := s.called(renew); err != nil {
		return nil, err
	}
	if h, ok := s.base.(store.Holder); ok {
		return h.Renew(ctx, scope, key, lease, ids...)
	}
	return nil, store.ErrUnsupported
}
