package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Brake implements [store.Braker] with one EVALSHA, which also publishes the key's clock on
// the channel "<prefix>brakes". If the script may not publish, waiters learn of the brake
// when their slot comes.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if err := keys.CheckBrake(charges, &b); err != nil {
		return err
	}
	k := s.keyOf(charges)
	c := &charges[0]
	_, err := s.runScript(ctx, &script.Brake, script.BrakeArgs(&k, &b, exact.Unit(charges, &b), s.clock(), s.watches.Channel, rediskey.Text(c.Scope, c.Key))).Bool()
	s.denials.Forget(c.Scope, c.Key)
	return err
}

// WatchBrakes implements [store.Braker]. While there are watchers, one connection of the
// client is subscribed to "<prefix>brakes". It connects in the background, and again after
// every cut. With a [redis.Ring] it never connects, as each shard has its own channels.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	return s.watches.Add(f)
}
