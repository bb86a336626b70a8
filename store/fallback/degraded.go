package fallback

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// decide decides without the primary, which failed with cause if this call
// asked it.
func (s *Store) decide(ctx context.Context, req *store.Request, cause error) (store.Decision, error) {
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

// policy returns the policy of the charges' limiters, of several the strictest.
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
	shared := *req
	shared.Charges = share(req.Charges, s.cfg.ReplicasFunc())
	shared.Hold = shareOfHold(req.Hold, s.cfg.ReplicasFunc())
	over := cut(shared.Charges, req.Charges)
	d, err := s.cfg.Local.Take(ctx, shared)
	if err != nil {
		return store.Decision{}, err
	}
	d.Degraded, d.Clock = true, standing(d.Clock)
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
		s.ledger.spend(req.Charges, s.breaker.epoch.Load(), &d)
	}
	if d.Receipt != nil {
		d.Receipt = receipt{of: d.Receipt, parts: parts, charges: append([]store.Charge(nil), req.Charges...)}
	}
	return d, nil
}

// standing makes the key's time stand from the start of a pause on. The local store
// does not know the slots ahead that the primary granted.
func standing(c store.Clock) store.Clock {
	m, ok := c.(*exact.Move)
	if !ok || m.Stand > 0 || !m.Paused(m.At) {
		return c
	}
	moved := *m
	moved.Stand = m.V
	return &moved
}

// open allows a request, on limits that look untouched.
func open(req *store.Request) store.Decision {
	first := &req.Charges[0]
	d := store.Decision{Allowed: true, Degraded: true, Limit: first.Limit, Scope: first.Scope, Remaining: first.Limit.Max()}
	if len(req.Charges) > 1 {
		for i := range req.Charges {
			d.Charges = append(d.Charges, store.ChargeState{Remaining: req.Charges[i].Limit.Max()})
		}
	}
	return d
}

// closed returns the error of a call that nobody decides on: the failure of the
// call itself, or else what the breaker opened for.
func closed(cause, away error) error {
	if cause == nil {
		cause = away
	}
	if cause == nil {
		return ErrAway
	}
	return fmt.Errorf("%w: %w", ErrAway, cause)
}

// share returns the charges with this process's share of their limits; the same
// charges where that is the whole.
func share(charges []store.Charge, replicas int) []store.Charge {
	n := int64(max(replicas, 1))
	if n == 1 {
		return charges
	}
	shared := append([]store.Charge(nil), charges...)
	for i := range shared {
		shared[i].Limit = shareOf(shared[i].Limit, n)
		shared[i].Reserve /= n
	}
	return shared
}

// shareOf divides a limit by n. A bucket keeps its rate exactly, in a longer
// period, and gets its part of the burst. A window gets its part of the rate,
// rounded down; where that is less than one, it admits one in a longer window. So
// the shares together keep the rate. They do not depend on what a call costs:
// another limit for each cost would have the key's state change with every call.
// Of a limit that so many share that its part is tiny, several parts are admitted
// in as many times the window.
func shareOf(l store.Limit, n int64) store.Limit {
	l.Name = l.Policy()
	k := min(n, mostParts)
	most := max(l.Max()/k, 1)
	if l.Algorithm == store.GCRA {
		l.Burst = most
		// A bucket that takes longer than that to fill is not valid.
		l.Period = max(min(times(l.Period, n, 1), times(store.MaxPeriod, l.Rate, most)-time.Microsecond), l.Period)
		return l
	}
	if most*k > l.Rate {
		l.Period = times(l.Period, most*k, l.Rate)
	}
	if n > k {
		l.Period = times(l.Period, n, k)
	}
	l.Rate = most
	return l
}

// times returns d·a/b in whole microseconds, rounded up, at most the longest
// period.
func times(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d/time.Microsecond), uint64(a))
	if hi >= uint64(b) {
		return store.MaxPeriod
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	if q > uint64(store.MaxPeriod/time.Microsecond) {
		return store.MaxPeriod
	}
	return time.Duration(q) * time.Microsecond
}

// learn tells the local store what the primary answered.
func (s *Store) learn(a *attempt) {
	seeder, ok := s.cfg.Local.(Seeder)
	if !ok || a.d.Reason == store.ReasonNeverFits {
		return
	}
	charges := share(a.req.Charges, s.cfg.ReplicasFunc())
	states := a.state[:0]
	for i := range charges {
		state, whole := a.d.Charge(i), &a.req.Charges[i].Limit
		state.Remaining = scale(state.Remaining, charges[i].Limit.Max(), whole.Max())
		if bookedOut(whole, state) && charges[i].Limit.Period != whole.Period {
			state.Remaining = 0 // There is no such window in the share's period.
		}
		states = append(states, state)
	}
	if oneKey(charges) {
		if s.ledger.seen(id{charges[0].Scope, charges[0].Key}, a.epoch, states) && !a.hidden(states) {
			seeder.Seed(charges, states)
		}
		return
	}
	for first := range charges {
		if g := group(charges, first); g != nil {
			mine, known := pick(charges, states, g)
			if s.ledger.seen(id{charges[first].Scope, charges[first].Key}, a.epoch, known) && !a.hidden(known) {
				seeder.Seed(mine, known)
			}
		}
	}
}

// hidden reports whether nothing remains of the states of a key as it is paused, and
// not as it is used up. What is known from before is nearer to the truth then.
//
// What was granted in a pause, or ahead of it, counts as all that there is.
func (a *attempt) hidden(states []store.ChargeState) bool {
	if a.d.Reason != store.ReasonPaused && (a.d.Clock == nil || !a.req.Peek()) {
		return false
	}
	for i := range states {
		if states[i].Remaining > 0 {
			return false
		}
	}
	return true
}

// bookedOut reports whether a state is that of a window that is yet to start:
// what remains of it can't be had before that, and nothing else can.
func bookedOut(l *store.Limit, st store.ChargeState) bool {
	return (l.Algorithm == store.FixedWindow || l.Algorithm == store.AlignedWindow) && st.ResetAfter > l.Period
}

// free returns the units that may be had of a limit before its window ends.
func free(l *store.Limit, st store.ChargeState) int64 {
	if bookedOut(l, st) {
		return 0
	}
	return st.Remaining
}

// scale returns n·to/from, rounded down; at most store.MaxUnits.
func scale(n, to, from int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(to))
	if hi >= uint64(from) {
		return store.MaxUnits
	}
	q, _ := bits.Div64(hi, lo, uint64(from))
	return int64(min(q, store.MaxUnits))
}

// group returns the places of the charges with the key of the first-th, or nil
// when an earlier one has that key.
func group(charges []store.Charge, first int) (places []int) {
	for i := range charges {
		if charges[i].Key == charges[first].Key && charges[i].Scope == charges[first].Scope {
			if i < first {
				return nil
			}
			places = append(places, i)
		}
	}
	return places
}

// oneKey reports whether all charges are of the same key.
func oneKey(charges []store.Charge) bool {
	for i := range charges[1:] {
		if charges[i+1].Key != charges[0].Key || charges[i+1].Scope != charges[0].Scope {
			return false
		}
	}
	return true
}

func pick(charges []store.Charge, states []store.ChargeState, places []int) (c []store.Charge, st []store.ChargeState) {
	for _, i := range places {
		c, st = append(c, charges[i]), append(st, states[i])
	}
	return c, st
}
