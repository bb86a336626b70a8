package exact

import "github.com/goweir/weir/store"

// Book takes the costs of charges at the slot that Find found. Every limit of the key
// counts them, also one that the charges do not name. A tag other than 0 asks for a receipt.
func (k *Key) Book(f *Found, charges []store.Charge, now, tag int64) *Receipt {
	k.forget(f, now, true)
	var most int64
	for i := range charges {
		most = max(most, charges[i].Cost)
	}
	var r *Receipt
	if tag != 0 {
		r = k.receipt(f, charges, most, tag)
	}
	if k.Born == 0 {
		k.Born = now
	}
	k.enqueue(f, most)
	logged, oldest := false, k.Log.end()
	for i := range k.Parts {
		p := &k.Parts[i]
		units, at := f.cost(charges, i, most), f.Floor
		switch {
		case p.is(store.SlidingWindow):
			k.Log.expire(&p.Rule, &p.State, f.V)
			logged, oldest = true, min(oldest, p.State.A)
			continue
		case units == 0:
			continue
		case p.inRealTime():
			at = f.Real
		case k.Queue.Tag != 0:
			p.Credit.book(k.Queue.Seq, Micros{p.State.A, p.State.B}, f.Slot)
		}
		p.book(at, units, k.Queue.Seq)
		if i >= f.old {
			p.begin(k.Queue.Seq)
		}
		if p.Left > 0 {
			p.Rule.bound(&p.State, f.V)
		}
	}
	if units := k.logged(f, charges, most); logged && units > 0 {
		k.Log.push(f.Slot, units, oldest)
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
	if !f.natural || len(k.Parts) > 1 {
		q.Cost = 0
	}
	if q.First > f.V {
		q.First = min(q.First, f.Slot) // Slots are rounded.
	}
	q.Last = f.Floor
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
