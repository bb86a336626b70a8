package fallback

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/goweir/weir"
)

// probeRequest is what a probe asks: a unit of a key of its own.
var probeRequest = weir.Request{Charges: []weir.Charge{{
	Scope: "weir-probe", Key: "probe", Limit: weir.PerSecond(1000), Cost: 1,
}}}

// decide decides without the primary.
func (s *Store) decide(ctx context.Context, req *weir.Request) (weir.Decision, error) {
	policy, ok := s.cfg.Policies[req.Charges[0].Scope]
	if !ok {
		policy = s.cfg.Policy
	}
	switch policy {
	case Open:
		return weir.Decision{Allowed: true, Degraded: true}, nil
	case LocalThenClosed:
		if away, _ := s.breaker.away(); away > s.cfg.Grace {
			return weir.Decision{}, s.closed()
		}
	case Closed:
		return weir.Decision{}, s.closed()
	}
	shared := *req
	shared.Charges = share(req.Charges, s.cfg.ReplicasFunc())
	d, err := s.cfg.Local.Take(ctx, shared)
	if err != nil {
		return weir.Decision{}, err
	}
	d.Degraded = true
	for i := range shared.Charges {
		if shared.Charges[i].Limit == d.Limit {
			d.Limit = req.Charges[i].Limit
			break
		}
	}
	if d.Allowed && !req.Peek() {
		s.ledger.spend(req.Charges, s.breaker.epoch.Load(), d.Charge)
	}
	if d.Receipt != nil {
		d.Receipt = receipt{of: d.Receipt}
	}
	return d, nil
}

func (s *Store) closed() error {
	if _, err := s.breaker.away(); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return ErrAway
}

// share returns the charges with this process's share of their limits.
func share(charges []weir.Charge, replicas int) []weir.Charge {
	n := int64(max(replicas, 1))
	shared := append([]weir.Charge(nil), charges...)
	for i := range shared {
		shared[i].Limit = shareOf(shared[i].Limit, shared[i].Cost, n)
	}
	return shared
}

// shareOf divides a limit by n. A bucket keeps its rate exactly, in a longer
// period, and gets its part of the burst. A window gets its part of the rate,
// rounded down; where that is less than one, or less than one call costs, it
// admits that much in a longer window. So whatever fits the whole limit fits
// the share, and the shares together keep the rate.
func shareOf(l weir.Limit, cost, n int64) weir.Limit {
	if n == 1 {
		return l
	}
	l.Name = l.Policy()
	most := max(l.Max()/n, min(cost, l.Max()), 1)
	if l.Algorithm == weir.GCRA {
		l.Burst = most
		l.Period = times(l.Period, n, 1)
		return l
	}
	if most*n > l.Rate {
		l.Period = times(l.Period, most*n, l.Rate)
	}
	l.Rate = most
	return l
}

// times returns d·a/b in whole microseconds, rounded up, at most the longest
// period.
func times(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d/time.Microsecond), uint64(a))
	if hi >= uint64(b) {
		return weir.MaxPeriod
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	if q > uint64(weir.MaxPeriod/time.Microsecond) {
		return weir.MaxPeriod
	}
	return time.Duration(q) * time.Microsecond
}

// learn tells the local store what the primary answered.
func (s *Store) learn(req *weir.Request, d *weir.Decision, epoch uint64) {
	seeder, ok := s.cfg.Local.(Seeder)
	if !ok || d.Reason == weir.NeverFits {
		return
	}
	n := s.cfg.ReplicasFunc()
	charges := share(req.Charges, n)
	states := make([]weir.ChargeState, len(charges))
	for i := range states {
		states[i] = d.Charge(i)
		states[i].Remaining = scale(states[i].Remaining, charges[i].Limit.Max(), req.Charges[i].Limit.Max())
	}
	for first := range charges {
		if g := group(charges, first); g != nil {
			mine, known := pick(charges, states, g)
			seeder.Seed(mine, known)
			s.ledger.seen(id{charges[first].Scope, charges[first].Key}, epoch, known)
		}
	}
}

// scale returns n·to/from, rounded down.
func scale(n, to, from int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(to))
	q, _ := bits.Div64(hi, lo, uint64(from))
	return int64(q)
}

// group returns the places of the charges with the key of the first-th, or nil
// when an earlier one has that key.
func group(charges []weir.Charge, first int) (places []int) {
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

func pick(charges []weir.Charge, states []weir.ChargeState, places []int) (c []weir.Charge, st []weir.ChargeState) {
	if len(places) == len(charges) {
		return charges, states
	}
	for _, i := range places {
		c, st = append(c, charges[i]), append(st, states[i])
	}
	return c, st
}
