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
		a := ask{id: s.id(c.Scope, c.Key), charges: req.Charges, cost: c.Cost, reserve: c.Reserve, maxWait: exact.MaxWait(&req)}
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
