package localstore

import (
	"context"
	"math/bits"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Take implements [store.Store].
func (s *Store) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	if err = ctx.Err(); err != nil {
		return d, err
	}
	if err = req.Validate(); err != nil {
		return d, err
	}
	switch small := !req.Cancelable && !req.Hold.Asked() && areSmall(req.Charges); {
	case small && len(req.Charges) == 1:
		c := &req.Charges[0]
		a := ask{id: idOf(c), limit: &c.Limit, cost: c.Cost, leave: c.Reserve, maxWait: exact.MaxWait(&req)}
		a.hash = s.hash(&a.id)
		if o, done, err := s.takeSmall(&a); done {
			if err == nil {
				setDecision(&d, c, &o)
			}
			return d, err
		}
	case small:
		if d, done, err := s.takeSeveral(&req); done {
			return d, err
		}
	}
	return s.take(&req)
}

// take is Take for requests that are valid.
func (s *Store) take(req *store.Request) (store.Decision, error) {
	// The room of the common case, so that it need not be allocated.
	var one [1]group
	var two [2]exact.Outcome
	var braked [1]exact.Braked
	b := booking{req: req, look: req.Free() || req.NeverFits() >= 0, free: req.Free(), groups: one[:], outcomes: two[:]}
	if n := len(req.Charges); n <= len(two) {
		b.outcomes = two[:n]
	} else {
		b.outcomes = make([]exact.Outcome, n)
	}
	var r *receipt
	var err error
	if oneKey(req.Charges) {
		one[0] = group{id: idOf(&req.Charges[0]), places: places{n: len(req.Charges)}}
		b.verdict.Brakes = braked[:]
		r, err = s.takeOne(&b)
	} else {
		b.groups = groupsOf(req.Charges)
		b.verdict.Brakes = make([]exact.Braked, len(b.groups))
		r, err = s.takeMany(&b)
	}
	if err != nil {
		return store.Decision{}, err
	}
	d := exact.Decide(req, b.verdict, b.outcomes)
	if r != nil {
		d.Receipt = r
	}
	return d, nil
}

// takeOne is Take for charges of one key.
func (s *Store) takeOne(b *booking) (*receipt, error) {
	g := &b.groups[0]
	g.shard = s.shard(g.id)
	g.shard.mu.Lock()
	defer g.shard.mu.Unlock()
	b.now = s.now()
	if g.entry = s.entry(g.shard, g.id); g.entry == nil {
		s.sweep(g.shard, b.now, newLooks)
	}
	return b.decide(s)
}

// takeMany is Take for charges of several keys.
func (s *Store) takeMany(b *booking) (*receipt, error) {
	var locks uint64 // one bit for each of the shards
	for i := range b.groups {
		at := s.index(b.groups[i].id)
		b.groups[i].shard = &s.shards[at]
		locks |= 1 << at
	}
	// In order, so that two requests can't wait for each other.
	for left := locks; left != 0; left &= left - 1 {
		sh := &s.shards[bits.TrailingZeros64(left)]
		sh.mu.Lock()
		defer sh.mu.Unlock()
	}
	b.now = s.now()
	for i := range b.groups {
		if g := &b.groups[i]; s.entry(g.shard, g.id) == nil {
			s.sweep(g.shard, b.now, newLooks)
		}
	}
	// Not before all is swept, as it may have been one of these.
	for i := range b.groups {
		g := &b.groups[i]
		g.entry = s.entry(g.shard, g.id)
	}
	return b.decide(s)
}
