package redisstore

import (
	"context"
	"fmt"

	"github.com/goweir/weir/internal/exact"
)

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
	switch r := of.(type) {
	case *receipt:
		cost, err := exact.Settled(len(r.charges), costs)
		if err != nil {
			return err
		}
		return s.settle(ctx, r, cost)
	case *receipts:
		cost, err := exact.Settled(r.charges, costs)
		if err != nil {
			return err
		}
		return s.settleParts(ctx, r.parts, cost)
	}
	return fmt.Errorf("redisstore: %s: a receipt of type %T is not of this store", op, of)
}
