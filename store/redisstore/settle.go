package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// receipt settles a request. It has one part for each booked key.
type receipt struct {
	keys    []*script.Receipt
	charges []store.Charge
}

func receiptOf(req *store.Request, keys []*script.Receipt) *receipt {
	return &receipt{keys, slices.Clone(req.Charges)}
}

// Windows returns the slot, in the key's time, and the windows with a beginning that count it.
// Of several keys it returns those of the first.
func (r *receipt) Windows() (slot int64, list []*exact.Window) { return r.keys[0].Windows() }

// Cancel implements [store.Canceler]. If nothing changed since the booking, the state
// becomes the one before. Otherwise windows and logs stop counting the units, and GCRA gives
// back as much as exceeds no limit.
func (s *Store) Cancel(ctx context.Context, of any) error {
	return s.correct(ctx, "cancel", of, 0)
}

// Settle implements [store.Settler]: one EVALSHA for each server that decided.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	return s.correct(ctx, "settle", of, costs...)
}

// correct settles a receipt at costs.
func (s *Store) correct(ctx context.Context, op string, of any, costs ...int64) error {
	r, ok := of.(*receipt)
	if !ok {
		return fmt.Errorf("redisstore: %s: a receipt of type %T is not of this store", op, of)
	}
	cost, err := exact.Settled(len(r.charges), costs)
	if err != nil {
		return err
	}
	return s.settle(ctx, r, cost)
}

// settle corrects the bookings of a receipt. If each key needs a call of its own, the widest
// comes first, and the others follow also after its error.
func (s *Store) settle(ctx context.Context, r *receipt, cost func(charge int) int64) error {
	size := len(r.keys)
	if s.slotted.Load() {
		size = 1
	}
	var errs []error
	for end := len(r.keys); end > 0; end -= size {
		if _, err := s.runScript(ctx, &script.Settle, script.SettleArgs(r.keys[end-size:end], s.clock(), cost)).Bool(); err != nil {
			errs = append(errs, err)
		}
	}
	for i := range r.charges {
		s.denials.Forget(r.charges[i].Scope, r.charges[i].Key)
	}
	return errors.Join(errs...)
}
