package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// Restore implements [store.Restorer] with one EVALSHA. For spent units, a key of the ID
// remembers for ten minutes which units were added.
func (s *Store) Restore(ctx context.Context, m store.Memory) (lost bool, err error) {
	if err := m.Validate(); err != nil {
		return false, err
	}
	reply, err := s.run(ctx, &script.Restore, s.restoreArgs(&m))
	return reply == int64(1), err
}

func (s *Store) restoreArgs(m *store.Memory) []any {
	s.denials.Forget(m.Scope, m.Key)
	state := rediskey.State(s.prefix, m.Scope, m.Key)
	return script.RestoreArgs(state, rediskey.Log(state), rediskey.Restored(state, m.ID), m, s.clock())
}

// restoreAnd restores keys and runs take in one round trip. It sends the text of Restore,
// unless the server surely knows the script: take must not run without it. A key that moves
// is restored by itself.
func (s *Store) restoreAnd(ctx context.Context, list []store.Memory, take []any) (any, error) {
	var commands []command
	for i := range list {
		if err := list[i].Validate(); err != nil {
			return nil, err
		}
		args := s.restoreArgs(&list[i])
		if args[0], args[1] = "evalsha", script.Restore.SHA; i == 0 && !s.restores.Load() {
			args[0], args[1] = "eval", script.Restore.Body
		}
		commands = append(commands, command{once: once{redis.NewCmd(ctx, args...)}})
	}
	take[0], take[1] = "evalsha", script.Take.SHA
	commands = append(commands, command{once: once{redis.NewCmd(ctx, take...)}})
	s.exec(ctx, commands)
	s.restores.Store(commands[0].Err() == nil)
	last := &commands[len(list)]
	for i := range list {
		err := commands[i].Err()
		if err != nil && (redis.HasErrorPrefix(err, "NOSCRIPT") || isSplit(err)) {
			_, err = s.Restore(ctx, list[i])
		}
		if err != nil {
			s.lost(err)
			return nil, classify(err)
		}
	}
	if err := last.Err(); err != nil {
		if redis.HasErrorPrefix(err, "NOSCRIPT") || isSplit(err) {
			return s.run(ctx, &script.Take, take)
		}
		s.lost(err)
		return nil, classify(err)
	}
	return last.Val(), nil
}

// seen returns when the caller last saw the key of the i-th charge; 0: never.
func seen(req *store.Request, i int) int64 {
	if req.Seen == nil {
		return 0
	}
	return int64(req.Seen[i].At)
}

// see fills in the caller's Seen of a key's charges.
func see(req *store.Request, k *script.Key, a *script.Answer, now int64) {
	for i, at := range k.Places {
		if req.Seen == nil {
			return
		}
		to := &req.Seen[at]
		a.See(k.Limits, i, now, to)
		if a.Calls > 0 && a.Real > now {
			to.Last = store.Instant(a.Real)
		}
	}
}
