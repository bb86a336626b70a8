package localstore

import (
	"cmp"
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Brake implements [store.Braker].
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if err := cmp.Or(ctx.Err(), keys.CheckBrake(charges, &b)); err != nil {
		return err
	}
	move, err := s.brake(charges, &b)
	if move != nil {
		s.watchers.Tell(charges[0].Scope, charges[0].Key, move)
	}
	return err
}

// brake changes the clock of a key. It returns nil if nothing changes.
func (s *Store) brake(charges []store.Charge, b *store.Brake) (*exact.Move, error) {
	sh, k := s.lockKey(charges[0].Scope, charges[0].Key)
	defer sh.mu.Unlock()
	now := s.now()
	if b.Lift && sh.keys[k] == nil {
		return nil, nil // A small key has no brake.
	}
	e, fresh := s.open(sh, k, now)
	move := e.key.Brake(charges, b, now)
	if move == nil {
		return nil, nil
	}
	if fresh && !s.keep(sh, e, now) {
		return nil, ErrFull
	}
	s.changed(sh, e, now)
	return move, nil
}

// WatchBrakes implements [store.Braker].
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	return s.watchers.Add(f)
}
