package redisstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// mostIDs is the most leases in one command: Redis does nothing else meanwhile.
const mostIDs = 500

// heldKey is the Redis key of a weir key's leases, a sorted set of their IDs by
// the instant at which each ends, in µs since the Unix epoch.
func (s *Store) heldKey(scope, key string) string {
	state, _ := s.keys(scope, key)
	return state + ":held"
}

// Release implements [store.Holder]: one ZREM.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	if s.plain != nil {
		return ErrNeedsScripts
	}
	for some := range slices.Chunk(ids, mostIDs) {
		args := []any{"zrem", s.heldKey(scope, key)}
		for _, id := range some {
			args = append(args, id)
		}
		if err := s.client.Do(ctx, args...).Err(); err != nil {
			return classify(err)
		}
	}
	return nil
}

// Renew implements [store.Holder]: one EVALSHA for up to 500 leases.
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	if s.plain != nil {
		return nil, ErrNeedsScripts
	}
	if err := (store.Hold{Max: 1, ID: "id", Lease: lease}).Validate(); err != nil {
		return nil, err
	}
	for some := range slices.Chunk(ids, mostIDs) {
		c := &call{head: [3]any{s.clock(), lease.Microseconds(), "renew"}, held: s.heldKey(scope, key), renew: some}
		reply, err := s.run(ctx, c)
		if err != nil {
			return lost, err
		}
		list, ok := reply.([]any)
		if !ok {
			return lost, fmt.Errorf("%w: a %T for a renewal", errReply, reply)
		}
		for _, id := range list {
			text, ok := id.(string)
			if !ok {
				return lost, fmt.Errorf("%w: a %T in that for a renewal", errReply, id)
			}
			lost = append(lost, text)
		}
	}
	return lost, nil
}
