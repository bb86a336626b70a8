package localstore

import (
	"context"

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
		a := ask{id: s.idOf(c), limit: &c.Limit, cost: c.Cost, leave: c.Reserve, maxWait: exact.MaxWait(&req)}
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

// take is Take for any valid request.
func (s *Store) take(req *store.Request) (d store.Decision, err error) {
	// Room for the common case, in variables of their own, so that none is allocated.
	var (
		group    [1]exact.Group
		place    [1]home
		seen     [1]exact.Seen
		parts    [2]int
		each     [2]int64
		outcomes [4]exact.Outcome
	)
	groups, homes, out := group[:], place[:], outcomes[:]
	var v exact.Verdict
	if oneKey(req.Charges) {
		place[0].id = s.idOf(&req.Charges[0])
		group[0].Charges = req.Charges
		group[0].Found = exact.Found{Parts: parts[:], Each: each[:]}
		v.Keys = seen[:]
	} else {
		groups, homes = s.group(req.Charges)
	}
	if n := len(req.Charges); n <= len(out) {
		out = out[:n]
	} else {
		out = make([]exact.Outcome, n)
	}
	if err = s.decide(req, groups, homes, &v, out); err != nil {
		return d, err
	}
	d = exact.Decide(req, &v, out)
	if req.Cancelable && v.Allowed {
		d.Receipt = receipt(len(req.Charges), v.Keys, homes)
	}
	return d, nil
}
