package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// maxIDs is the maximum number of leases in one command: Redis serves no other client
// meanwhile.
const maxIDs = 500

// Release implements [store.Holder] with one ZREM for up to 500 leases.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	held := rediskey.Held(s.name(scope, key))
	for some := range slices.Chunk(ids, maxIDs) {
		args := []any{"zrem", held}
		for _, id := range some {
			args = append(args, id)
		}
		if err := s.ended(); err != nil {
			return err
		}
		if err := s.failed(s.client.Do(ctx, args...).Err()); err != nil {
			return err
		}
	}
	return nil
}

// Renew implements [store.Holder] with one EVALSHA for up to 500 leases.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	if err := (store.Hold{Max: 1, ID: "id", Lease: lease}).Validate(); err != nil {
		return nil, err
	}
	held := rediskey.Held(s.name(scope, key))
	for some := range slices.Chunk(ids, maxIDs) {
		missing, err := s.runScript(ctx, &script.Lease, script.LeaseArgs(held, lease.Microseconds(), some, s.clock())).StringSlice()
		if err != nil {
			return lost, err
		}
		lost = append(lost, missing...)
	}
	return lost, nil
}
