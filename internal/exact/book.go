package exact

import "github.com/goweir/weir/store"

// Find finds the earliest slot at which all limits admit the charges with a cost. Open
// comes before it.
func (k *Key) Find(f *Found, charges []store.Charge, now int64) {
	b := k.Clock.Floor(max(f.V, k.Queue.Last), now)
	f.Floor, f.Slot, f.natural = f.V, f.V, false
	for i := range charges {
		p, floor, slot, need := &k.Parts[f.Parts[i]], f.V, f.V, charges[i].Need()
		if charges[i].Cost > 0 && !p.inRealTime() {
			floor, slot = p.Rule.Slot(&p.State, &k.Log, f.V, need)
			f.natural = p.is(store.GCRA) && slot > f.V && slot >= b && need == charges[i].Cost
		}
		f.Floor, f.Slot, f.Each[i] = max(f.Floor, floor), max(f.Slot, slot), max(slot, b)
	}
	if f.Slot < b {
		f.Floor, f.Slot = b, b
	}
	f.clock = k.Clock.standing(f.Slot, now)
	f.Real = max(f.clock.Real(f.Slot), now)
	from := max(f.clock.Real(b), now)
	latest := f.Real
	for i := range charges {
		p := &k.Parts[f.Parts[i]]
		switch {
		case charges[i].Cost == 0:
			f.Each[i] = now
		case p.inRealTime():
			_, f.Each[i] = p.Rule.Slot(&p.State, &k.Log, from, charges[i].Need())
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
		f.Real, f.natural = at, false
		f.Slot = max(f.Slot, f.clock.Now(at-1)+1) // v does not reach it sooner.
		f.Floor = max(f.Floor, f.Slot)
	}
}

// Book takes the costs of charges at the slot that Find found. Every limit of the key
// counts them, also one that the charges do not name. A tag other than 0 asks for a receipt.
func (k *Key) Book(f *Found, charges []store.Charge, now, tag int64) *Receipt {
	var most int64
	for i := range charges {
		most = max(most, charges[i].Cost)
	}
	var r *Receipt
	if tag != 0 {
		r = k.receipt(f, charges, most, tag)
	}
	k.forget(f, now)
	if k.Born == 0 {
		k.Born = now
	}
	k.enqueue(f, most)
	first := k.expire(f.V)
	for i := range k.Parts {
		p := &k.Parts[i]
		units, at := f.cost(charges, i, most), f.Floor
		if i >= f.old {
			p.begin(k.Queue.Seq)
		}
		switch {
		case units == 0 || p.is(store.SlidingWindow):
			continue
		case p.inRealTime():
			at = f.Real
		case k.Queue.Tag != 0 && i < f.old:
			p.note(k.Queue.Seq, f.Slot)
		}
		p.book(at, units, k.Queue.Seq)
		if p.Left > 0 {
			p.bound(f.V)
			p.outlast(f)
		}
	}
	if units := k.logged(f, charges, most); units > 0 && k.logs() > 0 {
		k.Log.push(f.Slot, units, first)
	}
	k.Clock = f.clock
	k.Clock.Book(f.Slot, most, now)
	return r
}

// enqueue notes a slot. A slot is ahead until v reaches it.
func (k *Key) enqueue(f *Found, cost int64) {
	q := &k.Queue
	if q.Tag != 0 {
		q.Seq++
	}
	switch {
	case f.Slot <= f.V:
		return
	case q.Last <= f.V:
		q.First, q.Cost = f.Slot, cost
	case q.Cost != cost:
		q.Cost = 0
	}
	if len(k.Parts) > 1 || !f.natural && !k.Parts[0].wholeWindows(f.Slot-q.First) {
		q.Cost = 0
	}
	q.Last = f.Slot
}

// logged returns the units for the log: the largest cost under a sliding window. If no
// charge names a sliding window, the largest cost of all counts.
func (k *Key) logged(f *Found, charges []store.Charge, most int64) int64 {
	units, named := int64(0), false
	for j, i := range f.Parts {
		if k.Parts[i].is(store.SlidingWindow) {
			units, named = max(units, charges[j].Cost), true
		}
	}
	if !named {
		return most
	}
	return units
}

// View returns the state of a charge's limit now, as a brake allows.
func (k *Key) View(f *Found, i int, now int64) (remaining, reset int64) {
	p := &k.Parts[f.Parts[i]]
	return View(&p.Rule, &p.State, &k.Log, &k.Clock, now)
}
