package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
)

// Cancel implements [store.Canceler]. Requests that can be cancelled take nothing ahead, so
// every receipt belongs to the store behind.
func (s *Store) Cancel(ctx context.Context, receipt any) error {
	c, ok := s.cfg.Store.(store.Canceler)
	if !ok {
		return store.ErrUnsupported
	}
	return c.Cancel(ctx, receipt)
}

// Settle implements [store.Settler]. Its receipts belong to the store behind, too.
func (s *Store) Settle(ctx context.Context, receipt any, costs ...int64) error {
	st, ok := s.cfg.Store.(store.Settler)
	if !ok {
		return store.ErrUnsupported
	}
	return st.Settle(ctx, receipt, costs...)
}

// Reset implements [store.Resetter]. Units that this process took ahead are forgotten, too.
// Units of another process may be used until their time is over.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	r, ok := s.cfg.Store.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	err := r.Reset(ctx, scope, key)
	// Only units taken after the reset can be given back.
	if back := s.drop(id{scope, key}); back != nil {
		<-back
	}
	return err
}

// Brake implements [store.Braker]. This process gives its units back. Another process does
// so when it hears of the brake, or when their time is over.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	br, ok := s.cfg.Store.(store.Braker)
	if !ok {
		return store.ErrUnsupported
	}
	if err := br.Brake(ctx, charges, b); err != nil {
		return err
	}
	if back := s.drop(id{charges[0].Scope, charges[0].Key}); back != nil {
		<-back
	}
	return nil
}

// WatchBrakes implements [store.Braker] with the store behind, which books all slots.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	b, ok := s.cfg.Store.(store.Braker)
	if !ok {
		return new(watchers.Set).Add(f)
	}
	return b.WatchBrakes(f)
}

// Release implements [store.Holder].
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	h, ok := s.cfg.Store.(store.Holder)
	if !ok {
		return store.ErrUnsupported
	}
	return h.Release(ctx, scope, key, ids...)
}

// Renew implements [store.Holder].
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	h, ok := s.cfg.Store.(store.Holder)
	if !ok {
		return nil, store.ErrUnsupported
	}
	return h.Renew(ctx, scope, key, lease, ids...)
}
