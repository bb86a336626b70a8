package redisstore

import (
	"context"
	"errors"

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
