package fallback

import (
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// receipt says which store granted which units.
type receipt struct {
	primary bool
	of      any
	parts   share.Parts // if the cost exceeds this process's share; nil: of is the one booking
	at      int64       // its slot, by the primary's clock
	charges []store.Charge
}

// Windows returns the windows that counted the booking, for the key's clock.
func (r receipt) Windows() (slot int64, list []*exact.Window) {
	if of, ok := r.of.(interface {
		Windows() (slot int64, list []*exact.Window)
	}); ok {
		return of.Windows()
	}
	return 0, nil
}

// receiptOf returns a receipt of this store.
func receiptOf(verb string, of any) (receipt, error) {
	r, ok := of.(receipt)
	if !ok {
		return r, fmt.Errorf("fallback: %s: a receipt of type %T is not of this store", verb, of)
	}
	return r, nil
}

// Cancel implements [store.Canceler]. The units of a primary's grant go back to the
// primary. While it is away, they stay used.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, err := receiptOf("cancel", of)
	if err != nil {
		return err
	}
	c, ok := s.cfg.Primary.(store.Canceler)
	if r.primary && !ok {
		return store.ErrUnsupported
	}
	return s.correct(ctx, &r, func(int) int64 { return 0 }, func(ctx context.Context) error { return c.Cancel(ctx, r.of) })
}

// Settle implements [store.Settler], by the store that granted. A local grant is
// corrected here, and in the later charge to the primary.
//
// Two costs stay at their estimates in the primary:
//
//   - a local grant that the primary has been charged for: it has no booking there
//   - the primary's own grant while it is away: it alone knows which part still counts
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	r, err := receiptOf("settle", of)
	if err != nil {
		return err
	}
	settler, ok := s.cfg.Primary.(store.Settler)
	if r.primary && !ok {
		return store.ErrUnsupported
	}
	costs = slices.Clone(costs) // The call may outlast its caller.
	cost, err := exact.Settled(len(r.charges), costs)
	if err != nil {
		return err
	}
	return s.correct(ctx, &r, cost, func(ctx context.Context) error { return settler.Settle(ctx, r.of, costs...) })
}

// correct corrects a grant in the memory, and in the store that granted it: in the primary
// by f, unless it is away.
func (s *Store) correct(ctx context.Context, r *receipt, cost func(charge int) int64, f func(context.Context) error) error {
	if !r.primary {
		if err := r.parts.Or(r.of, r.charges).Settle(ctx, s.local, r.charges, cost); err != nil {
			return err
		}
	}
	s.memory.Correct(r.charges, cost, r.at, r.primary)
	if !r.primary || !s.breaker.Closed() {
		return nil
	}
	return s.within(ctx, f)
}
