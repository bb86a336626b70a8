package exact

import (
	"slices"

	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// maxLeft is the maximum number of limits of a key that bookings left out.
const maxLeft = 8

// Open finds the parts of charges, all of this key. It adds limits that the key does not
// know: see adopt. Close undoes that unless the slot is booked.
func (k *Key) Open(f *Found, charges []store.Charge, now int64) {
	k.drop(now)
	f.V, f.old, f.end, f.taken = k.Clock.Now(now), len(k.Parts), k.Log.end(), 0
	f.room(len(charges))
	for i := range charges {
		f.Parts[i] = k.part(&charges[i].Limit)
	}
	for i := range charges {
		if f.Parts[i] < 0 {
			f.Parts[i] = k.adopt(f, &charges[i].Limit, now)
		}
	}
}

// Close forgets the limits that Open added.
func (k *Key) Close(f *Found) {
	clear(k.Parts[f.old:])
	k.Parts = k.Parts[:f.old]
	k.Log.Entries = k.Log.Entries[:f.end-k.Log.First]
}

// adopt adds a limit. It replaces, of the limits that this call leaves out, the one with the
// nearest period, and begins with the used share of that limit. A limit is replaced once.
// Without such a limit the new one begins unused. A fixed window ends with one of its length.
// The share counts at the last booked slot: all slots booked ahead stay as they are.
func (k *Key) adopt(f *Found, l *store.Limit, now int64) int {
	if i := k.part(l); i >= 0 { // The request names the limit twice.
		return i
	}
	v := max(f.V, k.Queue.Last)
	at := max(now, k.Clock.Real(v))
	n, d := int64(0), int64(1)
	if i := k.nearest(f, l.Period.Microseconds()); i >= 0 {
		p := &k.Parts[i]
		f.taken |= 1 << i
		t := v
		if p.inRealTime() {
			t = at
		}
		booked := k.Log
		booked.Entries = booked.Entries[:f.end-booked.First]
		n, d = p.Rule.used(&p.State, &booked, t), p.Rule.Max
		if l.Algorithm == store.FixedWindow && p.is(l.Algorithm) && p.Rule.Limit.Period == l.Period {
			at = min(at, p.State.A)
		}
	}
	p := Part{Rule: RuleOf(l)}
	units := mulDivUp(n, p.Rule.Max, d)
	if p.State = p.Rule.Start(units, v, at); p.is(store.SlidingWindow) {
		p.State.A = k.adoptLog(f, v, units)
	}
	k.Parts = append(k.Parts, p)
	return len(k.Parts) - 1
}

// nearest returns the part that a limit replaces, with the smallest ratio of periods; -1: none.
func (k *Key) nearest(f *Found, period int64) int {
	best, near := -1, int64(0)
	for i := range min(f.old, 64) {
		if f.taken&(1<<i) != 0 || f.names(i) {
			continue
		}
		p := k.Parts[i].Rule.Period
		if best < 0 || product.Compare(max(period, p), min(period, near), min(period, p), max(period, near)) < 0 {
			best, near = i, p
		}
	}
	return best
}

// adoptLog starts the log with the used units of a sliding window, and returns the first
// entry that counts. Entries that other sliding windows still count are more exact.
func (k *Key) adoptLog(f *Found, v, units int64) (first int64) {
	first = min(f.end, k.expire(f.V))
	if begun := k.Log.sum(k.Log.end()) - k.Log.sum(f.end); f.end == first && units > begun {
		k.Log.Entries = append(k.Log.Entries[:f.end-k.Log.First], Entry{v, k.Log.sum(f.end) + units})
	}
	return first
}

// Refuse forgets the limits that Open added to a new key. A known key keeps them with
// their used share, so that they recover at their own rate, as do left out limits that the
// call names again. Refuse reports whether the key has changed.
func (k *Key) Refuse(f *Found, now int64) bool {
	again := slices.ContainsFunc(f.Parts, func(i int) bool { return k.Parts[i].Left > 0 })
	if f.old == 0 || len(k.Parts) == f.old && !again {
		k.Close(f)
		return false
	}
	if k.Queue.Tag != 0 && len(k.Parts) > f.old {
		k.Queue.Seq++
		for i := f.old; i < len(k.Parts); i++ {
			k.Parts[i].begin(k.Queue.Seq)
		}
	}
	k.forget(f, now)
	return true
}

// forget drops limits that the call leaves out, if they have lapsed or are too many. The
// first parts go first. It resets the time of the limits that the call names.
func (k *Key) forget(f *Found, now int64) {
	over := -maxLeft
	for i := range k.Parts {
		if p := &k.Parts[i]; f.names(i) {
			p.Left = 0
		} else if over++; p.Left == 0 {
			p.Left = k.lapse(p)
		}
	}
	if over == -maxLeft {
		return
	}
	kept, old := 0, 0
	k.keep(func(i int) bool {
		named := f.move(i, kept)
		stays := named || k.Parts[i].Left > now && over <= 0
		if !named {
			over--
		}
		if stays {
			if kept++; i < f.old {
				old++
			}
		}
		return stays
	})
	f.old = old
}

// move notes the new place of a part, and reports whether a charge names it.
func (f *Found) move(from, to int) (named bool) {
	for j := range f.Parts {
		if f.Parts[j] == from {
			f.Parts[j], named = to, true
		}
	}
	return named
}
