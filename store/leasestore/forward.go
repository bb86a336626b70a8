package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
)

// behind calls f with an ability of the store behind, if it has that.
func behind[T any](s *Store, f func(T) error) error {
	able, ok := s.cfg.Store.(T)
	if !ok {
		return store.ErrUnsupported
	}
	return f(able)
}

// Cancel implements [store.Canceler]. Requests that can be cancelled take nothing ahead, so
// every receipt belongs to the store behind.
func (s *Store) Cancel(ctx context.Context, receipt any) error {
	return behind(s, func(c store.Canceler) error { return c.Cancel(ctx, receipt) })
}

// Settle implements [store.Settler]. Its receipts belong to the store behind, too.
func (s *Store) Settle(ctx context.Context, receipt any, costs ...int64) error {
	return behind(s, func(st store.Settler) error { return st.Settle(ctx, receipt, costs...) })
}

// Reset implements [store.Resetter]. Units that this process took ahead are forgotten, too.
// Units of another process may be used until their time is over.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	err := behind(s, func(r store.Resetter) error { return r.Reset(ctx, scope, key) })
	// Only units taken after the reset can be given back.
	if back := s.drop(id{scope, key}); back != nil {
		<-back
	}
	return err
}

// Brake implements [store.Braker]. This process gives its units back. Another process does
// so when it hears of the brake, or when their time is over.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	err := behind(s, func(br store.Braker) error { return br.Brake(ctx, charges, b) })
	if err != nil {
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
	return behind(s, func(h store.Holder) error { return h.Release(ctx, scope, key, ids...) })
}

// Renew implements [store.Holder].
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	err = behind(s, func(h store.Holder) (err error) {
		lost, err = h.Renew(ctx, scope, key, lease, ids...)
		return err
	})
	return lost, err
}
