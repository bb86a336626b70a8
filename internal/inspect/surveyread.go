package inspect

import (
	"context"
	"errors"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/redis/go-redis/v9"
)

// read reads keys of one server in one round trip.
func (s *Survey) read(ctx context.Context, n node, some []surveyed) error {
	pipe := n.Pipeline()
	at := pipe.Time(ctx)
	all := make([]stored, len(some))
	for j := range some {
		k := &some[j]
		all[j] = stored{
			value: pipe.GetRange(ctx, k.name.State, 0, maxState-1), ttl: redis.NewDurationResult(gone, nil), log: redis.NewStringSliceResult(nil, nil),
			leases: redis.NewIntResult(0, nil), flights: redis.NewZSliceCmdResult(nil, nil),
		}
		if k.log {
			all[j].log = pipe.LRange(ctx, rediskey.Log(k.name.State), -fewLog, -1)
		}
		if k.held {
			all[j].leases = pipe.ZCard(ctx, rediskey.Held(k.name.State))
			all[j].flights = pipe.ZRangeWithScores(ctx, rediskey.Held(k.name.State), 0, maxLeases-1)
		}
	}
	if err := exec(ctx, pipe); err != nil {
		return err
	}
	now, err := at.Result()
	if err != nil {
		return err
	}
	for j := range some {
		name := &some[j].name
		k := &Key{Limiter: name.Scope, Key: name.Key, Hash: name.Hash, Stored: name.State, Server: n.addr, At: now.Add(s.inspector.ahead)}
		if errors.Is(k.decode(&all[j]), errTorn) {
			// Another call has changed the key between the commands, or its log is new.
			if err := s.inspector.reread(ctx, n, k, fewLog); err != nil {
				return err
			}
		}
		s.note(k)
	}
	return nil
}

// note keeps a key that was read. It forgets a key that two readings in a row did not find:
// an added key may come a moment later.
func (s *Survey) note(k *Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[k.Stored]
	if known == nil {
		return
	}
	missing := k.Missing && k.InFlight == 0 && k.Err == nil
	if missing && known.missed {
		delete(s.known, k.Stored)
		return
	}
	known.last, known.read, known.missed = k, s.number, missing
	known.held = known.held || k.InFlight > 0
}
