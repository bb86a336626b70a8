package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Restore implements [store.Restorer] with one EVALSHA. For spent units, a key of the ID
// remembers which units were added, while they count and for ten minutes at most.
func (s *Store) Restore(ctx context.Context, m store.Memory) (lost bool, err error) {
	if err := m.Validate(); err != nil {
		return false, err
	}
	return s.runScript(ctx, &script.Take, s.restoreArgs(&m)).Bool()
}

func (s *Store) restoreArgs(m *store.Memory) []any {
	s.denials.Forget(m.Scope, m.Key)
	return script.RestoreArgs(s.name(m.Scope, m.Key), m, s.clock())
}

// restoreAnd restores keys and runs take in one round trip. A key that moves is restored by
// itself.
func (s *Store) restoreAnd(ctx context.Context, list []store.Memory, take []any) (any, error) {
	calls := make([]rediscall.Once, 0, len(list)+1)
	for i := range list {
		if err := list[i].Validate(); err != nil {
			return nil, err
		}
		calls = append(calls, rediscall.New(ctx, byHash(&script.Take, s.restoreArgs(&list[i]))...))
	}
	calls = append(calls, rediscall.New(ctx, byHash(&script.Take, take)...))
	s.eval(ctx, &script.Take, calls)
	for i := range list {
		_, err := calls[i].Bool()
		if isSplit(err) {
			_, err = s.Restore(ctx, list[i])
		}
		if err != nil {
			return nil, s.failed(err)
		}
	}
	reply, err := calls[len(list)].Result()
	if isSplit(err) {
		return s.runScript(ctx, &script.Take, take).Result()
	}
	return reply, s.failed(err)
}
