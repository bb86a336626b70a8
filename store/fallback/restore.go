package fallback

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/keys"
	"github.com/goweir/weir/store/fallback/internal/memory"
	"github.com/goweir/weir/store/fallback/internal/plain"
)

// carry begins to restore the charges' keys that the primary lacks.
func (s *Store) carry(ctx context.Context, charges []store.Charge) (list []*memory.Restore, err error) {
	for _, i := range inOrder(charges) {
		r, err := s.due(ctx, keys.Of(&charges[i]), 0)
		if err != nil {
			s.sent(list, err)
			return nil, err
		}
		if r != nil {
			list = append(list, r)
		}
	}
	return list, nil
}

// inOrder returns the first charge of each key, in the order of the keys. So no two calls
// wait for each other.
func inOrder(charges []store.Charge) (places []int) {
	for i := range charges {
		if keys.First(charges, i) {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(i, j int) int {
		a, b := &charges[i], &charges[j]
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Scope, b.Scope))
	})
	return places
}

// due begins to restore a key, or returns nil. While one call restores a key, other calls
// for it wait: the primary would admit them on a state that lacks units. After a tenth of
// the budget they restore the key as well, as their own round trips may take the rest. The
// primary counts it once. lost is the time of an answer that may be lost, or 0.
func (s *Store) due(ctx context.Context, key keys.Key, lost int64) (*memory.Restore, error) {
	var timer <-chan time.Time
	for waited := false; ; {
		r, under := s.memory.Due(key, lost, s.clock.now(), waited)
		if under == nil {
			return r, nil
		}
		if _, twice := s.primary.(plain.Store); timer == nil && !twice { // A plain store would charge twice.
			timer = time.After(s.cfg.Budget / 10)
		}
		select {
		case <-under.Over:
		case <-timer:
			waited = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// carrying calls f, which passes memories to the primary. A lost answer does not hold the
// keys up: the end of ctx frees them.
func (s *Store) carrying(ctx context.Context, list []*memory.Restore, f func([]store.Memory) error) (err error) {
	if len(list) == 0 {
		return f(nil)
	}
	err = errBudget // in case f panics
	stop := context.AfterFunc(ctx, func() { s.sent(list, errBudget) })
	defer stop()
	defer func() { s.sent(list, err) }()
	var memories []store.Memory
	for _, r := range list {
		memories = append(memories, r.Memories...)
	}
	return f(memories)
}

// sent ends restores, and notes whether the primary knows the memories now.
func (s *Store) sent(list []*memory.Restore, err error) {
	known := err == nil || refused(err) // The primary would refuse every process's memory.
	for _, r := range list {
		s.memory.Sent(r, known, s.clock.now())
	}
}
