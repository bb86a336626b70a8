package exact

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/goweir/weir/store"
)

// Receipt is a booking, and the state before it. Only its windows change.
type Receipt struct {
	Owner       any // for the store
	Charges     int // number of the key's charges
	Tag, Seq    int64
	Floor, Slot int64 // in the key's time
	Real        int64 // by the store's clock
	Entry       int64 // in the log
	queue       Queue // before
	clock       Clock // before
	parts       int   // before
	booked      []booked
	windows     []*Window        // see Windows; nil: not asked for yet
	one         [1]booked        // room for one limit
	grades      [maxGrades]grade // room for the first limit's
}

// booked is the charge of one limit.
type booked struct {
	charge int // its place in the request; -1: no charge names the limit
	cost   int64
	before Part // the limit
}

// Windows returns the slot, in the key's time, and the windows with a beginning that count it.
func (r *Receipt) Windows() (slot int64, list []*Window) {
	for i := 0; r.windows == nil && i < len(r.booked); i++ {
		if b := &r.booked[i]; b.charge >= 0 && b.cost > 0 && b.before.inRealTime() {
			p := b.before
			p.book(r.Real, b.cost, 0)
			list = append(list, &Window{Algorithm: p.Rule.Limit.Algorithm, Period: p.Rule.Period, Start: p.State.A})
		}
	}
	if r.windows == nil {
		r.windows = list
	}
	return r.Slot, r.windows
}

func (k *Key) receipt(f *Found, charges []store.Charge, most, tag int64) *Receipt {
	q := k.Queue
	k.Queue.Tag = cmp.Or(q.Tag, tag)
	r := &Receipt{
		Charges: len(charges), Tag: k.Queue.Tag, Seq: q.Seq + 1,
		Floor: f.Floor, Slot: f.Slot, Real: f.Real, Entry: k.Log.end(), queue: q, clock: k.Clock, parts: f.old,
	}
	r.booked = slices.Grow(r.one[:0], len(k.Parts))
	grades := r.grades[:0]
	for i := range k.Parts {
		p := k.Parts[i]
		b := booked{charge: f.place(f.charge(charges, i)), cost: f.cost(charges, i, most), before: p}
		b.before.credit.grades = append(grades, p.credit.grades...)
		grades = nil
		r.booked = append(r.booked, b)
	}
	return r
}

// Settle corrects the booking of a receipt to other costs, one for each charge; 0 cancels it. It
// reports whether the state changed. If no later booking is left, the real costs replace the
// booked ones. Otherwise windows and logs count the difference, and a bucket gives back as
// much as its credit allows.
func (k *Key) Settle(r *Receipt, now int64, cost func(charge int) int64) bool {
	if k.drop(now); k.Queue.Tag != r.Tag {
		return false
	}
	v, alone, changed, less := k.Clock.Now(now), k.Queue.Seq == r.Seq, false, true
	var real int64
	for i := range r.booked {
		if b := &r.booked[i]; b.charge >= 0 && b.cost > 0 {
			real = max(real, cost(b.charge))
		}
	}
	for i := range r.booked {
		b := &r.booked[i]
		to := real
		if b.charge >= 0 {
			to = cost(b.charge)
		}
		less = less && (b.charge < 0 || b.cost == 0 || to <= b.cost)
		at := k.part(&b.before.Rule.Limit)
		if undone := alone && real == 0 && i < r.parts; undone && at < 0 { // The booking left the limit out.
			k.Parts = append(k.Parts, b.before)
		} else if undone && b.before.Left == 0 {
			k.Parts[at].Left = 0
		}
		if at < 0 || b.cost == 0 || to == b.cost {
			continue
		}
		undo := alone && (i < r.parts || r.parts == 0) // The state before a booking that added a limit is not known.
		switch p := &k.Parts[at]; {
		case p.is(store.SlidingWindow):
		case p.is(store.GCRA):
			changed = p.settleBucket(b, r, to, v, undo) || changed
		case undo && to == 0:
			p.restore(b)
			changed = true
		default:
			changed = p.settleWindow(r.Seq, to-b.cost, now) || changed
		}
	}
	if more := r.logged(real, cost); more != 0 {
		changed = k.settleLog(r, more, v) || changed
	}
	switch {
	case alone && real == 0:
		k.keep(func(i int) bool { // without the limits that the booking added
			return !slices.ContainsFunc(r.booked[r.parts:], func(b booked) bool { return k.Parts[i].Rule.Is(&b.before.Rule.Limit) })
		})
		k.Queue = Queue{r.queue.Last, r.queue.First, min(r.queue.Cost, k.Queue.Cost), r.Tag, r.Seq - 1}
		if !k.Clock.IsZero() {
			k.Clock.Next = r.clock.Next
			if k.Clock.Stand != r.clock.Stand && k.Queue.Last < k.Clock.Stand { // No other call waits there.
				k.Clock.Stand = 0
			}
		}
	case changed:
		// Buckets and logs count less also after later bookings are undone.
		if k.Queue.Cost = 0; !less || slices.ContainsFunc(k.Parts, func(p Part) bool { return p.inRealTime() }) {
			k.Queue.Seq++
		}
	}
	return changed || alone && real == 0
}

// settleWindow corrects the units of the booking seq, if a window holds it. Debt in an
// earlier window is a change too: it prevents the undo of bookings after it.
func (p *Part) settleWindow(seq, more, now int64) bool {
	s, end, counter := &p.State, p.State.A+p.Rule.Period, p.is(store.SlidingCounter)
	switch {
	case seq >= p.Opened[0] && (now < end || counter && now < end+p.Rule.Period):
		s.B = corrected(s.B, more)
	case counter && seq >= p.Opened[1] && seq < p.Opened[0] && now < end:
		s.C = corrected(s.C, more)
	default:
		return more > 0 && now < s.A // Its window may still be open.
	}
	return true
}

// restore puts the limit from before the booking back. A refusal may have changed its lapse.
func (p *Part) restore(b *booked) {
	left, grades := p.Left, append(p.credit.grades[:0], b.before.credit.grades...)
	*p = b.before
	p.Left, p.credit.grades = left, grades
}

// settleBucket corrects a bucket. A bucket that was full since has forgotten the booking.
func (p *Part) settleBucket(b *booked, r *Receipt, to, v int64, alone bool) bool {
	den, tat := p.Rule.Pace.Den, Micros{p.State.A, p.State.B}
	if tat.up() <= v {
		return false
	}
	switch {
	case alone:
		after := b.before
		after.book(r.Floor, b.cost, r.Seq)
		back := Micros{after.State.A, after.State.B}.Minus(tat, den) // by earlier bookings, since
		if p.restore(b); back != (Micros{}) {
			tat = tat.Minus(p.Rule.Pace.Span(b.cost), den)
			p.State.A, p.State.B = tat.Whole, tat.Rem
			p.credit.lower(0, back, den)
		}
		if to > 0 {
			p.note(r.Seq, r.Slot)
			p.book(r.Floor, to, r.Seq)
		}
	case to < b.cost:
		back := p.credit.take(r.Seq, r.Slot, p.Rule.Pace.Span(b.cost-to), den)
		if back == (Micros{}) {
			return false
		}
		tat = tat.Minus(back, den)
		p.State.A, p.State.B = tat.Whole, tat.Rem
	case p.credit.lapsed(r.Seq, r.Slot):
		return false
	default:
		p.book(0, to-b.cost, r.Seq)
	}
	p.bound(v)
	return true
}

// logged returns the number of units to add to the log: see Key.logged.
func (r *Receipt) logged(real int64, cost func(charge int) int64) int64 {
	var was, to, other int64
	named := false
	for i := range r.booked {
		b := &r.booked[i]
		switch {
		case !b.before.is(store.SlidingWindow):
		case b.charge < 0:
			other = b.cost
		case b.cost > 0:
			was, to, named = max(was, b.cost), max(to, cost(b.charge)), true
		default:
			named = true
		}
	}
	if !named && other > 0 {
		return real - other
	}
	return to - was
}

// settleLog corrects the entry of a booking while a sliding window still holds it.
func (k *Key) settleLog(r *Receipt, more, v int64) bool {
	live := slices.ContainsFunc(k.Parts, func(p Part) bool { return p.is(store.SlidingWindow) && r.Slot+p.Rule.Period > v })
	return live && k.Log.correct(r.Entry, r.Slot, more) != 0
}

// Settled checks the costs for a booking of so many charges, and returns the cost of each.
func Settled(charges int, costs []int64) (cost func(charge int) int64, err error) {
	if len(costs) != 1 && len(costs) != charges {
		return nil, &store.ConfigError{
			Field: "costs", Want: "one, or one for each of " + strconv.Itoa(charges) + " charges", Got: strconv.Itoa(len(costs)),
		}
	}
	for _, c := range costs {
		if c < 0 || c > store.MaxUnits {
			return nil, &store.ConfigError{Field: "costs", Want: "0 to 2^50", Got: strconv.FormatInt(c, 10)}
		}
	}
	if len(costs) == 1 {
		return func(int) int64 { return costs[0] }, nil
	}
	return func(charge int) int64 { return costs[charge] }, nil
}
