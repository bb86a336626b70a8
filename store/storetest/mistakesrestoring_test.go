package storetest_test

import (
	"context"

	"github.com/goweir/weir/internal/modelstore"
	"github.com/goweir/weir/store"
)

// misrestored replaces Restore.
type misrestored struct {
	*model
	restore func(m store.Memory) (lost bool, err error)
}

func (s *misrestored) Restore(_ context.Context, m store.Memory) (lost bool, err error) {
	return s.restore(m)
}

// restoring changes every memory. Losses are still reported correctly.
func restoring(spoil func(s *model, e *entry, m *store.Memory)) func(*model) store.Store {
	return func(s *model) store.Store {
		return &misrestored{s, func(m store.Memory) (lost bool, err error) {
			s.Mu.Lock()
			e := s.Entry(id{Scope: m.Scope, Key: m.Key}, modelstore.Now())
			lost = e.LostSince(m.At, modelstore.Now())
			m.Known, m.Spent = append([]store.Used(nil), m.Known...), append([]store.Used(nil), m.Spent...)
			spoil(s, e, &m)
			s.Mu.Unlock()
			_, err = s.Restore(context.Background(), m)
			return lost, err
		}}
	}
}

// resetting changes every Reset.
func resetting(spoil func(e *entry)) func(*model) store.Store {
	return func(s *model) store.Store {
		return &spoiled{model: s, reset: func(ctx context.Context, scope, key string) error {
			err := s.Reset(ctx, scope, key)
			s.Mu.Lock()
			defer s.Mu.Unlock()
			spoil(s.Keys[id{Scope: scope, Key: key}])
			return err
		}}
	}
}

// restoreMistakes are about losses.
var restoreMistakes = []mistake{
	{"nothing is restored", "a loss is restored", restoring(func(_ *model, _ *entry, m *store.Memory) { clear(m.Known) })},
	{"every caller restores", "a loss is restored once", restoring(func(_ *model, e *entry, _ *store.Memory) { e.Restored, e.Moved = nil, nil })},
	{"the first caller restores", "a loss is restored once", restoring(func(_ *model, e *entry, m *store.Memory) {
		if e.Restored != nil {
			m.At = 0
		}
	})},
	{"units since the loss are forgotten", "a loss is restored once", restoring(func(_ *model, e *entry, m *store.Memory) {
		if m.At > 0 && e.Restored == nil {
			e.Key.Parts, e.Log.Entries = nil, nil
		}
	})},
	{"the most units count, and no newer ones", "a sliding window known at other times", restoring(func(_ *model, e *entry, m *store.Memory) {
		for i, l := range m.Limits {
			if len(m.Known) > 0 && e.Restored[l].Units >= m.Known[i].Units {
				m.Known[i].At = min(m.Known[i].At, e.Restored[l].At)
			}
		}
	})},
	{"no loss is found", "a loss is found and changes nothing", before(func(req *store.Request) { req.Seen = nil })},
	{"a loss is found, and units are taken", "a loss is found and changes nothing", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if err == store.ErrLost {
				req.Seen = nil
				_, _ = s.Take(ctx, req)
			}
			return d, err
		}
	})},
	{"kept state is restored", "kept state is not restored", func(s *model) store.Store {
		return &misrestored{s, func(m store.Memory) (lost bool, err error) {
			m.At = 1
			_, err = s.Restore(context.Background(), m)
			return false, err
		}}
	}},
	{"a reset is a loss", "a reset is no loss", resetting(func(e *entry) { e.WasReset = false })},
	{"a reset of a lost key leaves no mark", "a reset is no loss", func(s *model) store.Store {
		return &spoiled{model: s, reset: func(ctx context.Context, scope, key string) error {
			s.Mu.Lock()
			known := s.Entry(id{Scope: scope, Key: key}, modelstore.Now()).Birth > 0
			s.Mu.Unlock()
			if !known {
				return nil
			}
			return s.Reset(ctx, scope, key)
		}}
	}},
	{"units are spent twice", "spent without the store", restoring(func(_ *model, e *entry, _ *store.Memory) { e.Added = nil })},
	{"units are spent by one caller", "spent without the store", restoring(func(_ *model, e *entry, m *store.Memory) {
		if len(e.Added) > 0 {
			m.ID = ""
		}
	})},
	{"units are spent beyond the brim", "spent to the brim", restoring(func(_ *model, e *entry, m *store.Memory) {
		for i := range e.Parts {
			if m.ID != "" && e.Parts[i].Rule.Limit.Algorithm == store.GCRA {
				e.Parts[i].State.A += 2 * e.Parts[i].Rule.Period
			}
		}
	})},
	{"units at slots ahead are dropped from a full window", "spent at slots ahead", restoring(func(_ *model, e *entry, m *store.Memory) {
		if m.Ahead > 0 && e != nil && len(e.Log.Entries) > 0 {
			clear(m.Spent)
		}
	})},
	{"lapsed units count", "lapsed units are not restored", restoring(func(_ *model, _ *entry, m *store.Memory) {
		for _, list := range [][]store.Used{m.Known, m.Spent} {
			for i := range list {
				list[i].At = max(list[i].At, store.Instant(modelstore.Now()))
			}
		}
	})},
	{"any memory will do", "mistakes in restoring", func(s *model) store.Store {
		return &misrestored{s, func(m store.Memory) (lost bool, err error) {
			if m.Validate() != nil {
				return false, nil
			}
			return s.Restore(context.Background(), m)
		}}
	}},
	{"slots from before a loss are forgotten", "slots after a loss", restoring(func(_ *model, _ *entry, m *store.Memory) { m.Last = 0 })},
	{"slots granted without the store are forgotten", "slots after a loss", restoring(func(_ *model, _ *entry, m *store.Memory) { m.Ahead = 0 })},
	{"a pause holds only known callers", "slots after a loss and pauses", func(s *model) store.Store {
		return &braked{s, func(*store.Brake) {
			s.Mu.Lock()
			defer s.Mu.Unlock()
			for _, e := range s.Keys {
				e.Promised = 0
			}
		}, func(c store.Clock) store.Clock { return c }}
	}},
	{"nothing is given back after a loss", "settle after a loss", func(s *model) store.Store {
		return &spoiled{model: s, settle: func(ctx context.Context, receipt any, costs ...int64) error {
			s.Mu.Lock()
			restored := receipt.(*modelstore.Receipt).First().Restored != nil
			s.Mu.Unlock()
			if restored {
				return nil
			}
			return s.Settle(ctx, receipt, costs...)
		}}
	}},
	{"limits are known by their places", "changed limits after a loss", restoring(func(_ *model, e *entry, m *store.Memory) {
		for i := range m.Limits {
			if len(m.Known) > 0 && i < len(e.Parts) {
				m.Limits[i] = e.Parts[i].Rule.Limit
			}
		}
	})},
	{"a unit is forgotten in each loss", "losses at random", restoring(func(_ *model, _ *entry, m *store.Memory) {
		for i := range m.Known {
			if m.Limits[i].Algorithm != store.GCRA {
				m.Known[i].Units = max(m.Known[i].Units-1, 0)
			}
		}
	})},
}
