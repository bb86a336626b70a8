package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// booking decides one request. The shards of its keys are locked.
type booking struct {
	req      *store.Request
	look     bool // nothing is to be taken
	free     bool // no units are, but perhaps a lease
	now      int64
	groups   []group
	outcomes []exact.Outcome // of the charges, in the request's order
	verdict  exact.Verdict
}

// decide sets the verdict and the outcomes. It returns a receipt, or nil when
// none was asked for.
func (b *booking) decide(s *Store) (*receipt, error) {
	fresh := int64(0)
	b.verdict.Now = b.now
	floor, slot := b.now, b.now
	for i := range b.groups {
		g := &b.groups[i]
		b.open(g)
		start := max(g.entry.line.last, b.keepBack(i))
		if g.counts = b.counts(i); g.counts {
			floor, slot = max(floor, start), max(slot, start)
			if g.fresh {
				fresh++
			}
		}
		for j := range g.states {
			at := g.at(j)
			b.outcomes[at].Slot = b.now
			if cost := b.req.Charges[at].Cost; cost > 0 && !b.look {
				f, c := g.states[j].slot(start, b.req.Charges[at].Need())
				b.outcomes[at].Slot = c
				floor, slot = max(floor, f), max(slot, c)
			}
		}
	}
	b.verdict.Slot = slot
	b.verdict.Allowed = !b.look && slot-b.now <= exact.MaxWait(b.req)
	holds := b.req.Hold.Asked() && (b.verdict.Allowed || b.free)
	if holds {
		b.verdict.Full = b.groups[0].entry.leases.full(b.req.Hold.Max, b.now)
		holds = b.verdict.Full == 0
		b.verdict.Allowed = b.verdict.Allowed && holds
	}
	var r *receipt
	if b.verdict.Allowed {
		if fresh > 0 && !s.makeRoom(fresh, b.now) {
			return nil, ErrFull
		}
		if b.req.Cancelable {
			r = newReceipt(s, slot, len(b.req.Charges), len(b.groups))
		}
		for i := range b.groups {
			if g := &b.groups[i]; g.counts {
				b.book(g, floor, r)
			}
		}
	}
	if g := &b.groups[0]; holds {
		if b.free {
			if g.fresh && !s.makeRoom(1, b.now) {
				return nil, ErrFull
			}
			if g.fresh {
				g.shard.add(g.entry)
			}
			b.verdict.Allowed = true
		}
		g.entry.hold(b.req.Hold.ID, b.now+b.req.Hold.Lease.Microseconds())
	}
	for i := range b.groups {
		g := &b.groups[i]
		if b.verdict.Braked {
			b.space(i)
		}
		for j := range g.states {
			at := g.at(j)
			o := g.states[j].report(b.now)
			o.Slot, o.Brake = b.outcomes[at].Slot, i
			b.outcomes[at] = o
		}
	}
	if holds && b.free {
		b.verdict.Slot = b.now // Nothing is charged, so nothing is waited for.
	}
	return r, nil
}

// counts reports whether a group has a say in when and whether the request is
// admitted: of several keys, those of which something is taken.
func (b *booking) counts(group int) bool {
	if len(b.groups) == 1 || group == 0 && b.req.Hold.Asked() {
		return true
	}
	g := &b.groups[group]
	for j := range g.n {
		if b.req.Charges[g.at(j)].Cost > 0 {
			return true
		}
	}
	return false
}

// open finds the states of a group's limits. Limits that changed since change
// the entry, whatever is decided, unless this call only looks.
func (b *booking) open(g *group) {
	e := g.entry
	if e == nil {
		e = &entry{id: g.id}
		e.states, _ = match(e.one[:0], nil, b.req.Charges, g.places, b.now)
		g.entry, g.fresh = e, true
	}
	if g.states = e.states; e.fits(b.req.Charges, g.places) {
		return
	}
	states, gone := match(nil, e.states, b.req.Charges, g.places, b.now)
	if g.states = states; b.look {
		return
	}
	// What was booked ahead may have had to wait for a limit that is gone. It
	// must not make anybody wait longer than those there are now could.
	if gone {
		for i := range states {
			states[i].clamp(b.now, true)
		}
		e.line = line{}
	}
	e.ahead.forget() // The places of the limits are others.
	e.states = states
	if e.brake != nil {
		e.brake.still = nil
	}
	e.settle()
}

// book takes the costs of a group's charges at the verdict's slot, which floor
// is rounded down.
func (b *booking) book(g *group, floor int64, r *receipt) {
	if g.fresh {
		g.shard.add(g.entry)
	}
	e, slot := g.entry, b.verdict.Slot
	if r != nil {
		r.add(e, b.req.Charges, g.places)
	}
	most := int64(0)
	for j := range e.states {
		if cost := b.req.Charges[g.at(j)].Cost; cost > 0 {
			e.states[j].book(floor, slot, cost, b.now, r != nil)
			most = max(most, cost)
		}
	}
	if e.held(b.now) {
		e.brake.Book(slot, most)
	} else {
		e.brake = nil
	}
	if slot > b.now {
		if e.ahead == nil {
			e.ahead = new(ahead)
		}
		e.ahead.book(e.line, slot, b.now, b.req.Charges, g.places)
	}
	e.line = e.line.booked(floor, slot, b.now)
	e.settle()
	if r != nil {
		r.done(e)
	}
}
