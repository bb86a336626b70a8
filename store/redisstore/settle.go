package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// receipt is what cancelling or settling takes: the call that was made, its
// charges, and what each key held before and after it.
type receipt struct {
	call    *call
	charges []store.Charge
	values  []string
	slot    int64
}

// Cancel implements [store.Canceler]. When nobody was charged on the key since,
// its value is put back as it was. Otherwise windows take the units out of
// their counts or log, and GCRA takes them back as far as that admits nothing
// too much: not beyond a moment at which the bucket was full anyway.
func (s *Store) Cancel(ctx context.Context, of any) error {
	return s.correct(ctx, "cancel", of, 0)
}

// Settle implements [store.Settler]: one EVALSHA for each server that decided.
// What is given back is what Cancel would give back of so many units.
func (s *Store) Settle(ctx context.Context, of any, costs ...int64) error {
	return s.correct(ctx, "settle", of, costs...)
}

func (s *Store) settle(ctx context.Context, r *receipt, cost func(charge int) int64) error {
	c := &call{head: [3]any{s.clock(), 0, "settle"}, groups: make([]group, len(r.call.groups))}
	order := r.call.order
	for i, g := range r.call.groups {
		g.argv = append(g.argv[:len(g.argv):len(g.argv)], r.slot, r.values[2*i], r.values[2*i+1])
		limits := g.limits()
		for _, at := range order[:limits] {
			g.argv = append(g.argv, settled(&r.charges[at], cost(at))...)
		}
		order = order[limits:]
		c.groups[i] = g
	}
	_, err := s.run(ctx, c)
	for i := range r.charges {
		s.denials.forget(r.charges[i].Scope, r.charges[i].Key)
	}
	return err
}

// settled is what the script is told of a charge's real cost: that, and for GCRA
// the time of the units between the two costs.
func settled(c *store.Charge, cost int64) []any {
	if c.Limit.Algorithm != store.GCRA {
		return []any{cost}
	}
	num, den := exact.Emission(&c.Limit)
	between := exact.Debt(max(cost-c.Cost, c.Cost-cost), num, den)
	return []any{cost, between.Whole, between.Rem}
}
