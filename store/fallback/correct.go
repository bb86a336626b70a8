package fallback

import (
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// receipt says which store granted, and what.
type receipt struct {
	primary bool
	of      any
	parts   []part // of a call that costs more than this process's share; nil: of is all
	at      int64  // when it was granted, or its slot, by the primary's clock
	charges []store.Charge
}

// Windows says which windows counted the booking, for the key's clock.
func (r receipt) Windows() (real int64, list []exact.Window) {
	if of, ok := r.of.(interface {
		Windows() (real int64, list []exact.Window)
	}); ok {
		return of.Windows()
	}
	return 0, nil
}

// Cancel implements [store.Canceler]. Units that the primary granted go back to it if it
// is there. While it is away, they stay used.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, ok := of.(receipt)
	if !ok {
		return fmt.Errorf("fallback: cancel: a receipt of type %T is not of this store", of)
	}
	st := s.cfg.Local
	if r.primary {
		st = s.cfg.Primary
	}
	c, ok := st.(store.Canceler)
	switch {
	case !ok:
		return store.ErrUnsupported
	case !r.primary:
		err := cancelParts(ctx, c, &r)
		if err == nil {
			s.memory.correct(r.charges, func(int) int64 { return 0 }, r.at, false)
		}
		return err
	}
	s.memory.correct(r.charges, func(int) int64 { return 0 }, r.at, true)
	if !s.breaker.isClosed() {
		return nil
	}
	return s.within(ctx, func(ctx context.Context) error { return c.Cancel(ctx, r.of) })
}

// Settle implements [store.Settler], by the store that granted. A local grant is corrected
// here, and in the later charge to the primary.
//
// Two costs stay at their estimates in the primary: that of a local grant that it has been
// charged for already, as it has no booking to correct; and that of its own grant if it is
// away, as it alone knows which part still counts.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	r, ok := of.(receipt)
	if !ok {
		return fmt.Errorf("fallback: settle: a receipt of type %T is not of this store", of)
	}
	by := s.cfg.Local
	if r.primary {
		by = s.cfg.Primary
	}
	settler, ok := by.(store.Settler)
	if !ok {
		return store.ErrUnsupported
	}
	cost, err := exact.Settled(len(r.charges), costs)
	switch {
	case err != nil:
		return err
	case !r.primary:
		if r.parts != nil {
			err = settleParts(ctx, settler, &r, cost)
		} else {
			err = settler.Settle(ctx, r.of, costs...)
		}
		if err != nil {
			return err
		}
		s.memory.correct(r.charges, cost, r.at, false)
		return nil
	}
	s.memory.correct(r.charges, cost, r.at, true)
	if !s.breaker.isClosed() {
		return nil
	}
	costs = slices.Clone(costs) // The caller's, and the call may outlast this one.
	return s.within(ctx, func(ctx context.Context) error { return settler.Settle(ctx, r.of, costs...) })
}
