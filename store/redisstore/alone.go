package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// takeAlone decides a request in a call of its own.
func (s *Store) takeAlone(ctx context.Context, req *store.Request) (store.Decision, error) {
	keys := s.keysOf(req)
	if len(keys) > 1 && s.apart(keys) {
		return s.takeInOrder(ctx, req, keys)
	}
	d, err := s.takeKeys(ctx, req, keys)
	if len(keys) > 1 && errors.Is(err, ErrCrossSlot) {
		s.slotted.Store(true)
		return s.takeInOrder(ctx, req, keys)
	}
	return d, err
}

// takeKeys decides a request whose keys live on one server.
func (s *Store) takeKeys(ctx context.Context, req *store.Request, keys []script.Key) (store.Decision, error) {
	v, outcomes, r, err := s.ask(ctx, req, keys, modeOf(req))
	if err != nil {
		return store.Decision{}, err
	}
	d := exact.Decide(req, &v, outcomes)
	if d.Allowed && r != nil {
		r.charges = append([]store.Charge(nil), req.Charges...)
		d.Receipt = r
	}
	return d, nil
}

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
