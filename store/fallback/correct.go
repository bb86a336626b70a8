package fallback

import (
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// receipt says which store granted, and what.
type receipt struct {
	primary bool
	of      any
	parts   []part // of a call that costs more than this process's share; nil: of is all
	charges []weir.Charge
}

// Cancel implements [weir.Canceler]. What the primary granted goes back to it
// if it is there; while it is away, that unit stays used.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, ok := of.(receipt)
	if !ok {
		return fmt.Errorf("fallback: cancel: a receipt of type %T is not of this store", of)
	}
	store := s.cfg.Local
	if r.primary {
		store = s.cfg.Primary
	}
	c, ok := store.(weir.Canceler)
	switch {
	case !ok:
		return weir.ErrUnsupported
	case !r.primary:
		err := cancelParts(ctx, c, &r)
		if err == nil {
			s.ledger.settle(r.charges, func(int) int64 { return 0 })
		}
		return err
	case s.State() != StateClosed:
		return nil
	}
	return s.within(ctx, func(ctx context.Context) error { return c.Cancel(ctx, r.of) })
}

// Settle implements [weir.Settler], by whoever granted. What was granted here is
// corrected here, and in what the primary will be charged when it is back.
//
// Two things stay at their estimates: for the primary, what it has been charged
// already of what was granted here, since it has no booking to correct; and what
// it granted itself and is settled while it is away, since it alone knows
// whether that still counts and what can be given back of it.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	r, ok := of.(receipt)
	if !ok {
		return fmt.Errorf("fallback: settle: a receipt of type %T is not of this store", of)
	}
	store := s.cfg.Local
	if r.primary {
		store = s.cfg.Primary
	}
	st, ok := store.(weir.Settler)
	if !ok {
		return weir.ErrUnsupported
	}
	cost, err := exact.Settled(len(r.charges), costs)
	switch {
	case err != nil:
		return err
	case !r.primary:
		if r.parts != nil {
			err = settleParts(ctx, st, &r, cost)
		} else {
			err = st.Settle(ctx, r.of, costs...)
		}
		if err != nil {
			return err
		}
		s.ledger.settle(r.charges, cost)
		return nil
	case s.State() != StateClosed:
		return nil
	}
	costs = slices.Clone(costs) // The caller's, and the call may outlast this one.
	return s.within(ctx, func(ctx context.Context) error { return st.Settle(ctx, r.of, costs...) })
}
