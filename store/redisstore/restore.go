package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/internal/redisclient"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Restore implements [store.Restorer] with one EVALSHA. For spent units, a key of the ID
// remembers for ten minutes which units were added.
func (s *Store) Restore(ctx context.Context, m store.Memory) (lost bool, err error) {
	if err := m.Validate(); err != nil {
		return false, err
	}
	reply, err := s.runScript(ctx, &script.Restore, s.restoreArgs(&m))
	return reply == int64(1), err
}

func (s *Store) restoreArgs(m *store.Memory) []any {
	s.denials.Forget(m.Scope, m.Key)
	return script.RestoreArgs(s.name(m.Scope, m.Key), m, s.clock())
}

// restoreAnd restores keys and runs take in one round trip. It sends the text of Restore,
// unless the server surely knows the script: take must not run without it. A key that moves
// is restored by itself.
func (s *Store) restoreAnd(ctx context.Context, list []store.Memory, take []any) (any, error) {
	to, _ := redisclient.ServerOf(ctx, s.client, s.name(list[0].Scope, list[0].Key))
	_, known := s.restores.Load(to.Addr)
	commands := make([]rediscall.Once, 0, len(list)+1)
	for i := range list {
		if err := list[i].Validate(); err != nil {
			return nil, err
		}
		args := byHash(&script.Restore, s.restoreArgs(&list[i]))
		if i == 0 && !known {
			args[0], args[1] = "eval", script.Restore.Body
		}
		commands = append(commands, rediscall.New(ctx, args...))
	}
	commands = append(commands, rediscall.New(ctx, byHash(&script.Take, take)...))
	s.exec(ctx, commands)
	if commands[0].Err() == nil {
		s.restores.Store(to.Addr, nil)
	}
	for i := range list {
		err := commands[i].Err()
		if undecided(err) {
			_, err = s.Restore(ctx, list[i])
		}
		if err != nil {
			return nil, s.failed(err)
		}
	}
	reply, err := commands[len(list)].Result()
	if undecided(err) {
		return s.runScript(ctx, &script.Take, take)
	}
	return reply, s.failed(err)
}

// undecided reports whether a script did not run, but may run by itself.
func undecided(err error) bool { return isSplit(err) || begins(err, "NOSCRIPT") }
