package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Take implements [store.Store]: one EVALSHA, whatever the number of limits. A call that has
// to wait, though most of its limit was left, takes a second one. For charges of several keys
// on a cluster or a ring see Levels in the package's documentation.
func (s *Store) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	if err := req.Validate(); err != nil {
		return d, err
	}
	together := s.combines(&req)
	if together {
		d, err = s.takeTogether(ctx, req)
	}
	if !together || req.MaxWait > 0 && err == nil && !d.Allowed {
		d, err = s.takeAlone(ctx, &req)
		for i := range req.Charges {
			if d.Allowed || len(req.Charges) > 1 {
				s.denials.Forget(req.Charges[i].Scope, req.Charges[i].Key)
			}
		}
	}
	if req.MaxWait > 0 && err == nil {
		s.free(&req).Store(d.Allowed && d.Delay == 0 && d.Remaining > d.Limit.Max()/2)
	}
	return d, err
}

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	state := s.name(scope, key)
	log, held := rediskey.Log(state), rediskey.Held(state)
	defer s.denials.Forget(scope, key)
	_, err := s.runScript(ctx, &script.Reset, script.ResetArgs(state, log, held, s.clock())).Bool()
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
