package localstore

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Seed sets the state of the limits of one key from another store's last answer: the
// remaining units of each, and the time until it is as if never used. A fallback
// store keeps this one warm with it. Seed does nothing for a new key if the store is
// full.
func (s *Store) Seed(charges []store.Charge, states []store.ChargeState) {
	k := s.id(charges[0].Scope, charges[0].Key)
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	if s.seedSmall(sh, &k, charges, states, now) {
		return
	}
	e, fresh := s.open(sh, k, now)
	if fresh && !s.keep(sh, e, now) {
		return
	}
	e.seed(charges, states, now)
	e.settle()
}

// seed makes the key one with these limits, each in its state. Receipts from before
// change nothing.
func (e *entry) seed(charges []store.Charge, states []store.ChargeState, now int64) {
	clock := e.key.Clock
	e.key = exact.Key{Clock: clock, Parts: e.key.Parts[:0]}
	v := clock.Now(now)
	var windows []logged
	for i := range charges {
		p := exact.Part{Rule: exact.RuleOf(&charges[i].Limit)}
		used, reset := max(p.Rule.Max-states[i].Remaining, 0), states[i].ResetAfter.Microseconds()
		switch {
		case p.Rule.Limit.Algorithm == store.SlidingWindow:
			windows = append(windows, logged{i, used, seededAt(&p.Rule, used, reset, v)})
		case p.Rule.Limit.Algorithm == store.GCRA:
			p.State.A = v + reset
		default:
			p.State = seeded(&p.Rule, used, reset, now)
		}
		e.key.Parts = append(e.key.Parts, p)
	}
	e.seedLog(windows)
}

// logged are the used units of a sliding window, and the slot of the newest.
type logged struct {
	part     int
	used, at int64
}

// seedLog makes a log, and each window counts its used units of it: the window with the
// most counts all entries, the next one leaves the first out.
func (e *entry) seedLog(windows []logged) {
	slices.SortFunc(windows, func(a, b logged) int { return int(b.used - a.used) })
	var at, sum int64
	for i := range windows {
		at = max(at, windows[i].at)
	}
	for i, w := range windows {
		e.key.Parts[w.part].State = exact.State{A: int64(len(e.key.Log.Entries)), B: sum}
		if w.used == 0 {
			continue
		}
		sum += w.used
		if i+1 < len(windows) {
			sum -= windows[i+1].used
		}
		e.key.Log.Entries = append(e.key.Log.Entries, exact.Entry{At: at, Sum: sum})
	}
}

// seededAt returns the slot of used units that count until reset µs from now. Units
// that fill a window for longer than it counts them are booked ahead.
func seededAt(r *exact.Rule, used, reset, v int64) int64 {
	at := reset - r.Period
	if used < r.Max {
		at = min(at, 0)
	}
	return v + at
}

// seeded returns the state of a window with a beginning in which used units count
// until reset µs from now.
func seeded(r *exact.Rule, used, reset, now int64) (s exact.State) {
	if r.Limit.Algorithm == store.SlidingCounter {
		// The windows follow the clock of the store that answered. The units of the
		// window before weigh less by now than they did then.
		if reset <= r.Period {
			return exact.State{A: now + reset - r.Period, C: unweighted(used, r.Period, reset)}
		}
		s = exact.State{A: now + reset - 2*r.Period, B: used}
		if used < r.Max {
			s.A = min(s.A, now)
		}
		return s
	}
	// With more than a period until it ends, no unit is free until it starts. No free
	// unit at all may come from a pause, which a person may lift.
	s = exact.State{A: now + reset - r.Period, B: used}
	if used >= r.Max {
		s.A = min(s.A, now+r.Period)
	}
	if r.Limit.Algorithm == store.AlignedWindow {
		s.A = max(now, s.A)
		s.A -= s.A % r.Period
	}
	return s
}

// unweighted returns the units of the window before that weigh as much as units
// in the present one, if counts of its period still count; at most exact.MostUnits.
func unweighted(units, period, counts int64) int64 {
	counts = max(counts, 1)
	if product.Compare(exact.MostUnits, counts, units, period) < 0 {
		return exact.MostUnits
	}
	n, rest := exact.MulDiv(units, period, counts)
	if rest {
		n++
	}
	return n
}

// seedSmall is Seed for a key with GCRA limits and nothing else. It reports false, and
// has changed nothing, for others.
func (s *Store) seedSmall(sh *shard, k *id, charges []store.Charge, states []store.ChargeState, now int64) bool {
	if len(charges) > mostLimits || sh.keys[*k] != nil {
		return false
	}
	for i := range charges {
		if charges[i].Limit.Algorithm != store.GCRA {
			return false
		}
	}
	a := ask{id: *k, hash: s.hash(k), limit: &charges[0].Limit, more: charges[1:]}
	var room [mostLimits]exact.State
	seeds := room[:len(charges)]
	for i := range seeds {
		seeds[i].A = now + states[i].ResetAfter.Microseconds()
	}
	if c, first, further := sh.small.get(a.hash, k); c != nil {
		if !c.is(a.limit, a.more) {
			return false
		}
		*first = seeds[0]
		copy(further, seeds[1:])
		return true
	}
	s.sweep(sh, now, newLooks)
	c, class := sh.small.classOf(&a)
	if c != nil && s.makeRoom(1, now) {
		sh.small.put(&a, class, seeds[0], seeds[1:])
	}
	return c != nil
}
