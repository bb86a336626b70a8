package fallback

import (
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// receipt says which store granted which units.
type receipt struct {
	primary bool
	of      any
	parts   []part // if the cost exceeds this process's share; nil: of is the one booking
	at      int64  // its slot, by the primary's clock
	charges []store.Charge
}

// Windows returns the windows that counted the booking, for the key's clock.
func (r receipt) Windows() (real int64, list []exact.Window) {
	if of, ok := r.of.(interface {
		Windows() (real int64, list []exact.Window)
	}); ok {
		return of.Windows()
	}
	return 0, nil
}

// Cancel implements [store.Canceler]. The units of a primary's grant go back to the
// primary. While it is away, they stay used.
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

// Settle implements [store.Settler], by the store that granted. A local grant is
// corrected here, and in the later charge to the primary.
//
// Two costs stay at their estimates in the primary:
//
//   - a local grant that the primary has been charged for: it has no booking there
//   - the primary's own grant while it is away: it alone knows which part still counts
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
	costs = slices.Clone(costs) // The call may outlast its caller.
	return s.within(ctx, func(ctx context.Context) error { return settler.Settle(ctx, r.of, costs...) })
}
