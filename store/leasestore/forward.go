package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir"
)

// Cancel implements [weir.Canceler]: what can be cancelled was never taken
// ahead, so it goes to the store behind.
func (s *Store) Cancel(ctx context.Context, receipt any) error {
	c, ok := s.cfg.Store.(weir.Canceler)
	if !ok {
		return weir.ErrUnsupported
	}
	return c.Cancel(ctx, receipt)
}

// Settle implements [weir.Settler], as Cancel does.
func (s *Store) Settle(ctx context.Context, receipt any, costs ...int64) error {
	return s.cfg.Store.(weir.Settler).Settle(ctx, receipt, costs...)
}

// Reset implements [weir.Resetter]. What this process had taken ahead is
// forgotten with the rest; what another one has may be used until its time is
// over.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	r, ok := s.cfg.Store.(weir.Resetter)
	if !ok {
		return weir.ErrUnsupported
	}
	err := r.Reset(ctx, scope, key)
	// What was taken since then is given back; what before, is no more.
	if u, some := s.drop(id{scope, key}); some {
		_ = s.giveBack(u)
	}
	return err
}

// Brake implements [weir.Braker]. What this process had taken ahead is given
// back; another one gives it back when it hears of it, or its time is over.
func (s *Store) Brake(ctx context.Context, charges []weir.Charge, b weir.Brake) error {
	br, ok := s.cfg.Store.(weir.Braker)
	if !ok {
		return weir.ErrUnsupported
	}
	if err := br.Brake(ctx, charges, b); err != nil {
		return err
	}
	if u, some := s.drop(id{charges[0].Scope, charges[0].Key}); some {
		_ = s.giveBack(u) // The key is slowed down all the same.
	}
	return nil
}

// WatchBrakes implements [weir.Braker]: only calls that go to the store behind
// wait for slots.
func (s *Store) WatchBrakes(f func(scope, key string, at weir.Instant)) weir.Watch {
	b, ok := s.cfg.Store.(weir.Braker)
	if !ok {
		return nothing{}
	}
	return b.WatchBrakes(f)
}

// heed has what was taken ahead of a key given back when the key is slowed down
// by another process, as far as the store behind hears of that.
func (s *Store) heed() {
	s.heeding.Do(func() {
		b, ok := s.cfg.Store.(weir.Braker)
		if !ok {
			return
		}
		s.watch = b.WatchBrakes(func(scope, key string, _ weir.Instant) {
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

// Release implements [weir.Holder].
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	h, ok := s.cfg.Store.(weir.Holder)
	if !ok {
		return weir.ErrUnsupported
	}
	return h.Release(ctx, scope, key, ids...)
}

// Renew implements [weir.Holder].
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	h, ok := s.cfg.Store.(weir.Holder)
	if !ok {
		return nil, weir.ErrUnsupported
	}
	return h.Renew(ctx, scope, key, lease, ids...)
}
