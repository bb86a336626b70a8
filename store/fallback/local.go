package fallback

import (
	"context"
	"fmt"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// decide decides without the primary. cause is the failure of this call there, or nil if
// it did not ask.
func (s *Store) decide(ctx context.Context, req *store.Request, cause error) (store.Decision, error) {
	s.alone.Do(func() {
		err := cause
		if err == nil {
			_, err = s.breaker.away()
		}
		s.cfg.Logger.Warn("weir: a call is decided without the primary store", "error", err)
	})
	switch s.policy(req.Charges) {
	case Open:
		return open(req), nil
	case LocalThenClosed:
		if away, err := s.breaker.away(); away > s.cfg.Grace {
			return store.Decision{}, closed(cause, err)
		}
	case Closed:
		_, err := s.breaker.away()
		return store.Decision{}, closed(cause, err)
	}
	return s.local(ctx, req)
}

// policy returns the strictest policy of the charges' limiters.
func (s *Store) policy(charges []store.Charge) Policy {
	strictness := [policies]int{Open: 0, Local: 1, LocalThenClosed: 2, Closed: 3}
	strictest := Open
	for i := range charges {
		p, ok := s.cfg.Policies[charges[i].Scope]
		if !ok {
			p = s.cfg.Policy
		}
		if strictness[p] > strictness[strictest] {
			strictest = p
		}
	}
	return strictest
}

// local decides on this process's share.
func (s *Store) local(ctx context.Context, req *store.Request) (store.Decision, error) {
	shared, replicas := *req, max(s.cfg.ReplicasFunc(), 1)
	shared.Seen = nil // It is for the primary.
	shared.Charges = share(req.Charges, replicas)
	shared.Hold = shareOfHold(req.Hold, replicas)
	over := cut(shared.Charges, req.Charges)
	now := s.clock.now()
	s.seed(req.Charges, shared.Charges, now)
	d, err := s.cfg.Local.Take(ctx, shared)
	if err != nil {
		return store.Decision{}, err
	}
	d.Degraded, d.Source, d.Clock = true, store.SourceFallback, standing(d.Clock)
	var parts []part
	if d.Allowed && over != nil {
		parts = s.takeAhead(ctx, shared, over, &d)
	}
	for i := range shared.Charges {
		if shared.Charges[i].Limit == d.Limit && shared.Charges[i].Scope == d.Scope {
			d.Limit = req.Charges[i].Limit
			break
		}
	}
	if d.Allowed && !req.Peek() {
		s.memory.spend(req.Charges, shared.Charges, int64(replicas), now+d.Delay.Microseconds(), now, s.breaker.outages.Load())
		if s.breaker.isClosed() {
			s.soon(silence)
		}
	}
	if d.Receipt != nil {
		at := now + d.Delay.Microseconds()
		d.Receipt = receipt{of: d.Receipt, parts: parts, at: at, charges: append([]store.Charge(nil), req.Charges...)}
	}
	return d, nil
}

// seed gives the local store the primary's states of the charges' keys.
func (s *Store) seed(charges, shared []store.Charge, now int64) {
	switch {
	case s.seeder == nil:
	case oneKey(charges):
		s.memory.seedOne(charges, shared, now, s.seeder)
	default:
		for first := range charges {
			if places := group(charges, first); places != nil {
				s.memory.seedOne(pick(charges, places), pick(shared, places), now, s.seeder)
			}
		}
	}
}

// standing stops the key's time at the start of a pause. The local store does not know
// the slots ahead that the primary granted.
func standing(c store.Clock) store.Clock {
	m, ok := c.(*exact.Move)
	if !ok || m.Stand > 0 || !m.Paused(m.At) {
		return c
	}
	moved := *m
	moved.Stand = m.V
	return &moved
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

// closed returns the error of a call without a decision. It wraps the call's own failure,
// or else the primary's last one.
func closed(cause, away error) error {
	if cause == nil {
		cause = away
	}
	if cause == nil {
		return ErrAway
	}
	return fmt.Errorf("%w: %w", ErrAway, cause)
}
