package exact

import (
	"slices"

	"github.com/goweir/weir/store"
)

// Found is a slot at which a key can serve a request.
type Found struct {
	V           int64   // the key's time now
	Floor, Slot int64   // in the key's time; Floor is rounded down
	Real        int64   // Slot by the store's clock
	Each        []int64 // by the store's clock: the slot of each charge's limit alone
	Parts       []int   // of each charge
	old         int     // number of parts before
	end         int64   // number of log entries before
	clock       Clock   // after the booking
	next        int64   // Clock.Next before
	taken       uint64  // bits of the parts that a new limit has replaced
	natural     bool    // the last limit, a bucket, makes the slot later than the queue
}

// Find finds the earliest slot at which all limits admit the charges with a cost. Open
// comes before it.
func (k *Key) Find(f *Found, charges []store.Charge, now int64) {
	b := k.Clock.Floor(max(f.V, k.Queue.Last), now)
	f.Floor, f.Slot, f.natural, f.next = b, b, false, k.Clock.Next
	for i := range charges {
		p := &k.Parts[f.Parts[i]]
		slot := b
		if charges[i].Cost > 0 && !p.inRealTime() {
			var floor int64
			floor, slot = k.slot(p, b, charges[i].Need())
			f.Floor, f.Slot = max(f.Floor, floor), max(f.Slot, slot)
			f.natural = p.is(store.GCRA) && floor > b
		}
		f.Each[i] = slot
	}
	f.clock = k.Clock.Standing(f.Slot, now)
	f.Real = max(f.clock.Real(f.Slot), now)
	from := max(f.clock.Real(b), now)
	latest := f.Real
	for i := range charges {
		p := &k.Parts[f.Parts[i]]
		switch {
		case charges[i].Cost == 0:
			f.Each[i] = now
		case p.inRealTime():
			_, f.Each[i] = k.slot(p, from, charges[i].Need())
			latest = max(latest, f.Each[i])
		default:
			f.Each[i] = max(f.clock.Real(f.Each[i]), now)
		}
	}
	k.Later(f, latest)
}

// Later moves the slot to a later time of the store, since another limit, or another key of
// the request, admits no sooner. All limits still admit then.
func (k *Key) Later(f *Found, at int64) {
	if at > f.Real {
		f.Real = at
		f.Slot = max(f.Slot, f.clock.Now(at))
		f.Floor = max(f.Floor, f.Slot)
	}
}

// room makes room for charges. A caller may bring its own, so that nothing is allocated.
func (f *Found) room(charges int) {
	if cap(f.Parts) < charges || cap(f.Each) < charges {
		f.Parts, f.Each = make([]int, charges), make([]int64, charges)
	}
	f.Parts, f.Each = f.Parts[:charges], f.Each[:charges]
}

// names reports whether a charge names the i-th part.
func (f *Found) names(i int) bool { return slices.Contains(f.Parts, i) }

// others reports whether a part from before has no charge.
func (f *Found) others() bool {
	for i := range f.old {
		if !f.names(i) {
			return true
		}
	}
	return false
}

// charge returns the charge that the i-th part counts: of the charges that name it, the one
// with the largest cost; -1: no charge names it.
func (f *Found) charge(charges []store.Charge, i int) int {
	at := -1
	for j, p := range f.Parts {
		if p == i && (at < 0 || charges[j].Cost > charges[at].Cost) {
			at = j
		}
	}
	return at
}

// cost returns the units that the i-th part counts. A limit that no charge names
// counts the largest cost.
func (f *Found) cost(charges []store.Charge, i int, most int64) int64 {
	if at := f.charge(charges, i); at >= 0 {
		return charges[at].Cost
	}
	return most
}

// View returns the state of a charge's limit now, as a brake allows.
func (k *Key) View(f *Found, i int, now int64) (remaining, reset int64) {
	p := &k.Parts[f.Parts[i]]
	s := p.State
	if p.is(store.SlidingWindow) {
		s = k.Log.seen(&p.Rule, &s, k.Clock.Now(now))
	}
	clock := k.Clock
	clock.Next = f.next // before the booking of this decision
	return View(&p.Rule, s, &clock, now)
}

// View returns how many units of a limit the next calls can take, and the time until it is
// as if never used. The state is as for Rule.View without a log.
func View(r *Rule, s State, c *Clock, now int64) (remaining, reset int64) {
	if InRealTime(r.Limit.Algorithm) {
		remaining, reset = r.View(&s, nil, now)
	} else {
		at := c.Now(now)
		remaining, reset = r.View(&s, nil, at)
		reset = c.Real(at+reset) - now
	}
	switch {
	case c.Paused(now):
		return 0, max(reset, c.Until-now)
	case c.Next > c.Now(now):
		return 0, max(reset, c.Real(c.Next)-now)
	case c.Slow(now):
		remaining = min(remaining, 1)
	}
	return remaining, max(reset, 0)
}
