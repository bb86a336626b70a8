package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// Cancel implements [store.Canceler]: what can be cancelled was never taken
// ahead, so it goes to the store behind.
func (s *Store) Cancel(ctx context.Context, receipt any) error {
	c, ok := s.cfg.Store.(store.Canceler)
	if !ok {
		return store.ErrUnsupported
	}
	return c.Cancel(ctx, receipt)
}

// Settle implements [store.Settler], as Cancel does.
func (s *Store) Settle(ctx context.Context, receipt any, costs ...int64) error {
	return s.cfg.Store.(store.Settler).Settle(ctx, receipt, costs...)
}

// Reset implements [store.Resetter]. What this process had taken ahead is
// forgotten with the rest; what another one has may be used until its time is
// over.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	r, ok := s.cfg.Store.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	err := r.Reset(ctx, scope, key)
	// What was taken since then is given back; what before, is no more.
	if u, some := s.drop(id{scope, key}); some {
		_ = s.giveBack(u)
	}
	return err
}

// Brake implements [store.Braker]. What this process had taken ahead is given
// back; another one gives it back when it hears of it, or its time is over.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	br, ok := s.cfg.Store.(store.Braker)
	if !ok {
		return store.ErrUnsupported
	}
	if err := br.Brake(ctx, charges, b); err != nil {
		return err
	}
	if u, some := s.drop(id{charges[0].Scope, charges[0].Key}); some {
		_ = s.giveBack(u) // The key is slowed down all the same.
	}
	return nil
}

// WatchBrakes implements [store.Braker]: only calls that go to the store behind
// wait for slots.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	b, ok := s.cfg.Store.(store.Braker)
	if !ok {
		return nothing{}
	}
	return b.WatchBrakes(f)
}

// heed has what was taken ahead of a key given back when the key is slowed down
// by another process, as far as the store behind hears of that.
func (s *Store) heed() {
	s.heeding.Do(func() {
		b, ok := s.cfg.Store.(store.Braker)
		if !ok {
			return
		}
		s.watch = b.WatchBrakes(func(scope, key string, _ store.Clock) {
			if u, some := s.drop(id{scope, key}); some {
				s.giving.Go(func() { _ = s.giveBack(u) })
			}
		})
	})
}

// nothing is a watch over a store that has no brakes.
type nothing struct{}

func (nothing) Covers(time.Time) bool { return true }
func (nothing) Stop()                 {}

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
