package fallback

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// decide decides without the primary. cause is the failure of this call there, or nil if
// it did not ask.
func (s *Store) decide(ctx context.Context, req *store.Request, cause error) (store.Decision, error) {
	policy := s.cfg.policy(req.Charges)
	s.alone.Do(func() {
		_, last := s.breaker.Away()
		s.cfg.Logger.Warn("weir: the primary store can't decide a call", "policy", policy, "replicas", s.cfg.replicas(), "error", cmp.Or(cause, last))
	})
	if policy == Open {
		return open(req), nil
	}
	if policy != Local {
		away, last := s.breaker.Away()
		if policy == Closed || away > s.cfg.Grace {
			if cause = cmp.Or(cause, last); cause == nil {
				return store.Decision{}, ErrAway
			}
			return store.Decision{}, fmt.Errorf("%w: %w", ErrAway, cause)
		}
	}
	return s.decideLocal(ctx, req)
}

// decideLocal decides on this process's share.
func (s *Store) decideLocal(ctx context.Context, req *store.Request) (store.Decision, error) {
	shared, replicas := *req, s.cfg.replicas()
	shared.Seen = nil // It is for the primary.
	shared.Charges = share.Charges(req.Charges, replicas)
	if req.Hold.Asked() {
		shared.Hold.Max = max(req.Hold.Max/replicas, 1)
	}
	over := share.Cut(shared.Charges, req.Charges)
	now := s.clock.now()
	s.memory.Seed(req.Charges, shared.Charges, now, s.local.Seed)
	d, err := s.local.Take(ctx, shared)
	if err != nil {
		return store.Decision{}, err
	}
	d.Degraded, d.Source, d.OtherLimits, d.Clock = true, store.SourceFallback, false, standing(d.Clock) // another share is no other limit
	var parts share.Parts
	if d.Allowed && over != nil {
		parts = share.TakeAhead(context.WithoutCancel(ctx), s.local, shared, over, &d)
	}
	if i := binding(shared.Charges, &d); shared.Charges[i].Limit == d.Limit {
		d.Limit = req.Charges[i].Limit
	}
	at := now + d.Delay.Microseconds()
	if d.Allowed && !req.Peek() {
		s.memory.Spend(req.Charges, shared.Charges, replicas, at, now, s.breaker.Outages())
		if s.breaker.Closed() {
			s.restoreAll(alone) // This call may be the last one for its key.
		}
	}
	if d.Receipt != nil {
		d.Receipt = receipt{of: d.Receipt, parts: parts, at: at, charges: slices.Clone(req.Charges)}
	}
	return d, nil
}

// open allows a request, and shows its limits as unused.
func open(req *store.Request) store.Decision {
	first := &req.Charges[0]
	d := store.Decision{
		Allowed: true, Degraded: true, Source: store.SourceFallback,
		Limit: first.Limit, Scope: first.Scope, Remaining: first.Limit.Max(),
	}
	if len(req.Charges) > 1 {
		for i := range req.Charges {
			d.Charges = append(d.Charges, store.ChargeState{Remaining: req.Charges[i].Limit.Max()})
		}
	}
	return d
}
