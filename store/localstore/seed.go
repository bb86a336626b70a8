package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Seed sets the state of the limits of one key from another store's last answer: the
// remaining units of each, and the time until it is as if never used. A fallback
// store keeps this one warm with it. Seed does nothing for a new key if the store is
// full.
func (s *Store) Seed(charges []store.Charge, states []store.ChargeState) {
	k, p := idOf(&charges[0]), places{n: len(charges)}
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	if s.seedSmall(sh, &k, charges, states, now) {
		return
	}
	e := s.entry(sh, k)
	switch {
	case e == nil:
		s.sweep(sh, now, newLooks)
		if !s.makeRoom(1, now) {
			return
		}
		e = &entry{id: k}
		e.states, _ = match(e.one[:0], nil, charges, p, now)
		sh.add(e)
	case !e.fits(charges, p):
		e.states, _ = match(nil, e.states, charges, p, now)
	}
	for i := range e.states {
		st := &e.states[i]
		seed(st.counting, max(st.limit.Max()-states[i].Remaining, 0), states[i].ResetAfter.Microseconds(), now)
	}
	e.line = line{}
	if e.brake != nil {
		e.brake.still = nil
	}
	e.settle()
}

// seedSmall is Seed for a key with GCRA limits, and no more to know of it. It
// reports false, and has changed nothing, for others.
func (s *Store) seedSmall(sh *shard, k *id, charges []store.Charge, states []store.ChargeState, now int64) bool {
	if len(charges) > mostLimits || sh.keys[*k] != nil {
		return false
	}
	for i := range charges {
		if charges[i].Limit.Algorithm != store.GCRA {
			return false
		}
	}
	h := s.hash(k)
	limit, more := &charges[0].Limit, charges[1:]
	i := sh.small.find(h, k, nil)
	if i < 0 {
		s.sweep(sh, now, newLooks)
		class := sh.small.class(k.scope, limit, more, nil)
		if class < 0 {
			return false
		}
		if !s.makeRoom(1, now) {
			return true
		}
		i = sh.small.add(s.seed, h, k, class)
	}
	at := &sh.small.slots[i]
	m := &sh.small.classes[at.class]
	if !m.of.is(limit, more) {
		return false
	}
	sh.hot.cool(at)
	at.state = exact.State{A: now + states[0].ResetAfter.Microseconds()}
	for j := range m.further(at) {
		m.further(at)[j] = exact.State{A: now + states[j+1].ResetAfter.Microseconds()}
	}
	return true
}

// seed makes used units count until reset µs from now. Those of a window that are all
// in use for longer than they count are booked ahead, and are where they were booked.
func seed(c counting, used, reset, now int64) {
	switch c := c.(type) {
	case *gcra:
		c.setTAT(exact.Micros{Whole: now + reset})
		c.setCredit(credit{})
	case *log:
		c.entries, c.head = c.entries[:0], 0
		if used > 0 {
			at := reset - c.period
			if used < c.rate {
				at = min(at, 0)
			}
			c.book(0, now+at, used, now, false)
		} else {
			c.write(0)
		}
	case *counter:
		// The windows follow the clock of the store that answered. The units of the
		// window before weigh less by now than they did then.
		if reset > c.period {
			c.start, c.cur, c.prev = now+reset-2*c.period, used, 0
			if used < c.rate {
				c.start = min(c.start, now)
			}
		} else {
			c.start, c.cur, c.prev = now+reset-c.period, 0, unweighted(used, c.period, reset)
		}
	case *fixed:
		// With more than a period until it ends, none is free until it starts. None
		// at all may be a pause's doing, which does not last if it is lifted.
		c.start, c.units = now+reset-c.period, used
		if used >= c.rate {
			c.start = min(c.start, now+c.period)
		}
		if c.aligned {
			c.start = align(max(now, c.start), c.period)
		}
	}
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
