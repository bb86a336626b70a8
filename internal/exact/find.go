package exact

import "github.com/goweir/weir/store"

// Find finds the earliest slot at which all limits admit the charges with a cost. Open
// comes before it.
func (k *Key) Find(f *Found, charges []store.Charge, now int64) {
	b := k.Clock.Floor(max(f.V, k.Queue.Last), now)
	f.Floor, f.Slot, f.natural, f.next = b, b, false, k.Clock.Next
	for i := range charges {
		p := &k.Parts[f.Parts[i]]
		slot := b
		if charges[i].Cost > 0 && !InRealTime(p.Rule.Limit.Algorithm) {
			var floor int64
			floor, slot = p.Rule.Slot(&p.State, &k.Log, b, charges[i].Need())
			f.Floor, f.Slot = max(f.Floor, floor), max(f.Slot, slot)
			f.natural = p.Rule.Limit.Algorithm == store.GCRA && floor > b
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
		case InRealTime(p.Rule.Limit.Algorithm):
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
		f.Real = at
		f.Slot = max(f.Slot, f.clock.Now(at))
		f.Floor = max(f.Floor, f.Slot)
	}
}

// Book takes the costs of charges at the slot that Find found. Every limit of the key
// counts them, also one that the charges do not name. A tag other than 0 asks for a receipt.
func (k *Key) Book(f *Found, charges []store.Charge, now, tag int64) *Receipt {
	k.forget(f, now, true)
	var r *Receipt
	if tag != 0 {
		r = k.receipt(f, charges, tag)
	}
	var most int64
	for i := range charges {
		most = max(most, charges[i].Cost)
	}
	if k.Born == 0 {
		k.Born = now
	}
	k.Queue.book(f, most, f.natural && len(k.Parts) == 1)
	logged, oldest := false, k.Log.end()
	for i := range k.Parts {
		p := &k.Parts[i]
		units, at := f.cost(charges, i, most), f.Floor
		switch {
		case p.Rule.Limit.Algorithm == store.SlidingWindow:
			k.Log.expire(&p.Rule, &p.State, f.V)
			logged, oldest = true, min(oldest, p.State.A)
			continue
		case units == 0:
			continue
		case InRealTime(p.Rule.Limit.Algorithm):
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

// begin notes the booking that added a limit, which does not count earlier bookings.
func (p *Part) begin(seq int64) {
	p.Opened = [2]int64{seq, seq}
	if seq > 0 && p.Rule.Limit.Algorithm == store.GCRA {
		p.Credit.Grades = append(p.Credit.Grades[:0], Grade{seq, 0, Micros{Whole: -1}})
	}
}

// Refuse forgets the limits that Open added to a new key. A known key keeps them with
// their used share, so that they recover at their own rate. Refuse reports whether the key
// has changed.
func (k *Key) Refuse(f *Found, now int64) bool {
	if f.old == 0 || len(k.Parts) == f.old {
		k.Close(f)
		return false
	}
	if k.Queue.Tag != 0 {
		k.Queue.Seq++
		for i := f.old; i < len(k.Parts); i++ {
			k.Parts[i].begin(k.Queue.Seq)
		}
	}
	k.forget(f, now, false)
	return true
}

// logged returns the units for the log: the largest cost under a sliding window. If no
// charge names a sliding window, the largest cost of all counts.
func (k *Key) logged(f *Found, charges []store.Charge, most int64) int64 {
	units, named := int64(0), false
	for j, i := range f.Parts {
		if k.Parts[i].Rule.Limit.Algorithm == store.SlidingWindow {
			units, named = max(units, charges[j].Cost), true
		}
	}
	if !named {
		return most
	}
	return units
}

// book takes units, and notes the booking that opens a window.
func (p *Part) book(at, units, seq int64) {
	was := p.State
	p.Rule.Book(&p.State, at, units)
	switch {
	case !InRealTime(p.Rule.Limit.Algorithm) || p.State.A == was.A && was.B > 0:
	case p.State.A == was.A:
		p.Opened[0] = seq
	case p.State.A == was.A+p.Rule.Period:
		p.Opened = [2]int64{seq, p.Opened[0]}
	default:
		p.Opened = [2]int64{seq, seq}
	}
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

// book notes a slot. A slot is ahead until v reaches it.
func (q *Queue) book(f *Found, cost int64, natural bool) {
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
	if !natural {
		q.Cost = 0
	}
	if q.First > f.V {
		q.First = min(q.First, f.Slot) // Slots are rounded.
	}
	q.Last = f.Floor
}

// forget drops limits that the call leaves out, if they have lapsed or are too many. The
// first parts go first. A booking resets the time of the limits that it names.
func (k *Key) forget(f *Found, now int64, booked bool) {
	over := -maxLeft
	for i := range k.Parts {
		p := &k.Parts[i]
		switch {
		case !f.names(i):
			over++
			if p.Left == 0 {
				p.Left = k.lapse(p)
			}
		case booked:
			p.Left = 0
		}
	}
	if over == -maxLeft {
		return
	}
	left, old := k.Parts[:0], 0
	for i := range k.Parts {
		p := k.Parts[i]
		named := f.move(i, len(left))
		if named || p.Left > now && over <= 0 {
			if left = append(left, p); i < f.old {
				old++
			}
		}
		if !named {
			over--
		}
	}
	f.old = old
	k.keep(left)
}

// move notes the new place of a part, and reports whether a charge names it.
func (f *Found) move(from, to int) bool {
	named := false
	for j := range f.Parts {
		if f.Parts[j] == from {
			f.Parts[j], named = to, true
		}
	}
	return named
}

// lapse returns the time of the store from which a part is as if never used.
func (k *Key) lapse(p *Part) int64 {
	if p.Left > 0 {
		return p.Left
	}
	at := p.Rule.Lapse(&p.State, &k.Log)
	if InRealTime(p.Rule.Limit.Algorithm) {
		return at
	}
	return k.Clock.Real(at)
}

// Lapse returns the time of the store from which the key is as if never used.
func (k *Key) Lapse() int64 {
	at := max(k.Clock.Real(k.Queue.Last), k.Clock.Lapse())
	for i := range k.Parts {
		at = max(at, k.lapse(&k.Parts[i]))
	}
	return at
}

// View returns the state of a charge's limit now, as a brake allows.
func (k *Key) View(f *Found, i int, now int64) (remaining, reset int64) {
	p := &k.Parts[f.Parts[i]]
	s := p.State
	if p.Rule.Limit.Algorithm == store.SlidingWindow {
		s = k.Log.seen(&p.Rule, &s, k.Clock.Now(now))
	}
	clock := k.Clock
	clock.Next = f.next // before the booking of this decision
	return View(&p.Rule, s, &clock, now)
}

// View returns how many units of a limit the next calls can take, and the time until it is
// as if never used. In the State of a sliding window A is its live units, and B the slot of
// the newest one.
func View(r *Rule, s State, c *Clock, now int64) (remaining, reset int64) {
	at := now
	if !InRealTime(r.Limit.Algorithm) {
		at = c.Now(now)
	}
	if r.Limit.Algorithm == store.SlidingWindow {
		remaining = max(r.Max-s.A, 0)
		if s.A > 0 {
			reset = s.B + r.Period - at
		}
	} else {
		remaining, reset = r.View(&s, nil, at)
	}
	if !InRealTime(r.Limit.Algorithm) {
		reset = c.Real(at+reset) - now
	}
	return c.view(remaining, reset, now)
}

// view corrects a limit's state for a clock that is slow or stands.
func (c *Clock) view(remaining, reset, now int64) (int64, int64) {
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
