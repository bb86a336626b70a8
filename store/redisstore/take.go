package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Take implements [store.Store]: one EVALSHA, whatever the number of limits. For
// charges of several keys on a cluster or a ring see Levels in the package's
// documentation.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if s.combines(&req) {
		return s.takeTogether(ctx, &req)
	}
	d, err := s.takeAlone(ctx, &req)
	for i := range req.Charges {
		c := &req.Charges[i]
		if d.Allowed || len(req.Charges) > 1 {
			s.denials.Forget(c.Scope, c.Key)
		}
	}
	return d, err
}

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	state := s.name(scope, key)
	log, held := rediskey.Log(state), rediskey.Held(state)
	defer s.denials.Forget(scope, key)
	_, err := s.runScript(ctx, &script.Reset, script.ResetArgs(state, log, held, s.clock()))
	if isSplit(err) {
		// A slot on the move: each node forgets the keys that it has.
		for _, name := range []string{state, log, held} {
			c := [1]rediscall.Once{rediscall.New(ctx, "del", name)}
			s.exec(ctx, c[:])
			if err = s.failed(c[0].Err()); err != nil {
				break
			}
		}
	}
	return err
}
