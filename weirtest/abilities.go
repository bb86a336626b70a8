package weirtest

import (
	"context"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// method is one of the optional ones of a store that can be told to fail.
type method int

const (
	cancel method = iota
	settle
	reset
	brake
	release
	renew
)

// FailCancel makes every Cancel return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailCancel(err error) { s.fail(cancel, err) }

// FailSettle makes every Settle return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailSettle(err error) { s.fail(settle, err) }

// FailReset makes every Reset return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailReset(err error) { s.fail(reset, err) }

// FailBrake makes every Brake return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailBrake(err error) { s.fail(brake, err) }

// FailRelease makes every Release return err, and do nothing. Nil: they are
// passed on.
func (s *Store) FailRelease(err error) { s.fail(release, err) }

// FailRenew makes every Renew return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailRenew(err error) { s.fail(renew, err) }

func (s *Store) fail(m method, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil {
		s.failing = make(map[method]error)
	}
	s.failing[m] = err
}

// called counts a call and returns the error that it was told to return.
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

// Cancel implements weir.Canceler. What a Grant granted was charged nowhere, and
// the wrapped store is not asked.
func (s *Store) Cancel(ctx context.Context, of any) error {
	if err := s.called(cancel); err != nil || of == (receipt{}) {
		return err
	}
	if c, ok := s.base.(weir.Canceler); ok {
		return c.Cancel(ctx, of)
	}
	return weir.ErrUnsupported
}

// Settle implements weir.Settler. What a Grant granted was charged nowhere, and
// the wrapped store is not asked.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	if err := s.called(settle); err != nil || of == (receipt{}) {
		return err
	}
	if c, ok := s.base.(weir.Settler); ok {
		return c.Settle(ctx, of, costs...)
	}
	return weir.ErrUnsupported
}

// Reset implements weir.Resetter.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := s.called(reset); err != nil {
		return err
	}
	if r, ok := s.base.(weir.Resetter); ok {
		return r.Reset(ctx, scope, key)
	}
	return weir.ErrUnsupported
}

// Brake implements weir.Braker.
func (s *Store) Brake(ctx context.Context, charges []weir.Charge, b weir.Brake) error {
	if err := s.called(brake); err != nil {
		return err
	}
	if k, ok := s.base.(weir.Braker); ok {
		return k.Brake(ctx, charges, b)
	}
	return weir.ErrUnsupported
}

// WatchBrakes implements weir.Braker. Of a wrapped store that is none no brake can
// be missed: the watch covers everything and is told of nothing.
func (s *Store) WatchBrakes(f func(scope, key string, at weir.Instant)) weir.Watch {
	w := weir.Watch(noBrakes{})
	if k, ok := s.base.(weir.Braker); ok {
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

// watch is one that is counted until it is stopped.
type watch struct {
	weir.Watch
	store *Store
	once  sync.Once
}

func (w *watch) Stop() {
	w.Watch.Stop()
	w.once.Do(func() { w.store.watch(-1) })
}

// Release implements weir.Holder.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	if err := s.called(release); err != nil {
		return err
	}
	if h, ok := s.base.(weir.Holder); ok {
		return h.Release(ctx, scope, key, ids...)
	}
	return weir.ErrUnsupported
}

// Renew implements weir.Holder.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	if err := s.called(renew); err != nil {
		return nil, err
	}
	if h, ok := s.base.(weir.Holder); ok {
		return h.Renew(ctx, scope, key, lease, ids...)
	}
	return nil, weir.ErrUnsupported
}
