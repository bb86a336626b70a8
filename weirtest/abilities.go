package weirtest

import (
	"context"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// FailCancel makes every Cancel do nothing but return err. Nil ends that.
func (s *Store) FailCancel(err error) { s.fail(&s.counts.Cancels, err) }

// FailSettle makes every Settle do nothing but return err. Nil ends that.
func (s *Store) FailSettle(err error) { s.fail(&s.counts.Settles, err) }

// FailReset makes every Reset do nothing but return err. Nil ends that.
func (s *Store) FailReset(err error) { s.fail(&s.counts.Resets, err) }

// FailBrake makes every Brake do nothing but return err. Nil ends that.
func (s *Store) FailBrake(err error) { s.fail(&s.counts.Brakes, err) }

// FailRelease makes every Release do nothing but return err. Nil ends that.
func (s *Store) FailRelease(err error) { s.fail(&s.counts.Releases, err) }

// FailRenew makes every Renew do nothing but return err. Nil ends that.
func (s *Store) FailRenew(err error) { s.fail(&s.counts.Renews, err) }

// fail sets the error of the method with a count.
func (s *Store) fail(count *int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil {
		s.failing = make(map[*int]error)
	}
	s.failing[count] = err
}

// called counts a call and returns the error set for its method, if any.
func (s *Store) called(count *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*count++
	return s.failing[count]
}

// Cancel implements store.Canceler. The wrapped store never hears of units from
// Grant: they were charged nowhere.
func (s *Store) Cancel(ctx context.Context, of any) error {
	if err := s.called(&s.counts.Cancels); err != nil || of == (receipt{}) {
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
	if err := s.called(&s.counts.Settles); err != nil || of == (receipt{}) {
		return err
	}
	if c, ok := s.base.(store.Settler); ok {
		return c.Settle(ctx, of, costs...)
	}
	return store.ErrUnsupported
}

// Reset implements store.Resetter.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := s.called(&s.counts.Resets); err != nil {
		return err
	}
	if r, ok := s.base.(store.Resetter); ok {
		return r.Reset(ctx, scope, key)
	}
	return store.ErrUnsupported
}

// Brake implements store.Braker.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if err := s.called(&s.counts.Brakes); err != nil {
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
	if err := s.called(&s.counts.Releases); err != nil {
		return err
	}
	if h, ok := s.base.(store.Holder); ok {
		return h.Release(ctx, scope, key, ids...)
	}
	return store.ErrUnsupported
}

// Renew implements store.Holder.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	if err := s.called(&s.counts.Renews); err != nil {
		return nil, err
	}
	if h, ok := s.base.(store.Holder); ok {
		return h.Renew(ctx, scope, key, lease, ids...)
	}
	return nil, store.ErrUnsupported
}
