package exact

import (
	"slices"

	"github.com/goweir/weir/store"
)

// Key is the state of one key. It changes only by its methods, which take the store's time in
// microseconds. The script of package redisstore keeps the same numbers under the same names.
type Key struct {
	Born  int64 // when the state was first written; 0: never
	Parts []Part
	Clock Clock
	Queue Queue
	Log   Log
}

// Part is one limit of a key.
type Part struct {
	Rule   Rule
	State  State
	credit credit // of GCRA
	// Opened is the Queue.Seq of the first booking of the last window with a beginning,
	// and of the window before that.
	Opened [2]int64
	// Left is 0 if the last booking named the limit. Otherwise it is the store's time from
	// which the limit is as if never used, apart from later bookings: see outlast.
	Left int64
}

// Queue has the slots booked ahead, in the key's time, and numbers the bookings that can be
// given back.
//
//	Last   the last booked slot; it is over once v has come to it
//	First  the first slot that was ahead when Last was not over
//	Cost   of every booking ahead; 0: they differ, or lie at uneven distances
//	Tag    tells this state from one after a Reset; 0: nothing can be given back
//	Seq    the number of bookings and other changes, but for lower costs, since Tag was set
type Queue struct{ Last, First, Cost, Tag, Seq int64 }

// is reports whether a part counts by an algorithm.
func (p *Part) is(a store.Algorithm) bool { return p.Rule.Limit.Algorithm == a }

func (p *Part) inRealTime() bool { return InRealTime(p.Rule.Limit.Algorithm) }

// wholeWindows reports whether two slots that lie so far apart lie whole windows apart.
func (p *Part) wholeWindows(by int64) bool { return p.inRealTime() && by%p.Rule.Period == 0 }

// book takes units, and notes the booking that opens a window.
func (p *Part) book(at, units, seq int64) {
	was := p.State
	p.Rule.Book(&p.State, at, units)
	switch {
	case !p.inRealTime() || p.State.A == was.A && was.B > 0:
	case p.State.A == was.A:
		p.Opened[0] = seq
	case p.State.A == was.A+p.Rule.Period:
		p.Opened = [2]int64{seq, p.Opened[0]}
	default:
		p.Opened = [2]int64{seq, seq}
	}
}

// note notes the backlog that a booking finds in a bucket.
func (p *Part) note(seq, slot int64) { p.credit.book(seq, Micros{p.State.A, p.State.B}, slot) }

// begin notes the booking that added a limit, which does not count earlier bookings.
func (p *Part) begin(seq int64) {
	p.Opened = [2]int64{seq, seq}
	if seq > 0 && p.is(store.GCRA) {
		p.credit.begin(seq)
	}
}

// bound caps the numbers of a limit when settled costs exceed its capacity.
func (p *Part) bound(v int64) {
	s := &p.State
	switch most := v + p.Rule.Pace.Full.Whole + MostDebt; {
	case !p.is(store.GCRA):
		s.B = min(s.B, MostUnits)
	case s.A > most:
		s.A, s.B = most, 0
	}
}

// outlast keeps a bucket that a booking leaves out until it is full again, if it had room.
func (p *Part) outlast(f *Found) {
	if full := (Micros{p.State.A, p.State.B}).up(); p.is(store.GCRA) && full <= f.Slot+p.Rule.Pace.Full.Whole {
		p.Left = max(p.Left, f.clock.Real(full))
	}
}

// part returns the index of a limit; -1: the key does not know it.
func (k *Key) part(l *store.Limit) int {
	for i := range k.Parts {
		if k.Parts[i].Rule.Is(l) {
			return i
		}
	}
	return -1
}

// drop forgets limits that bookings have left out until they lapsed.
func (k *Key) drop(now int64) {
	k.keep(func(i int) bool { return k.Parts[i].Left == 0 || k.Parts[i].Left > now })
}

// keep forgets parts that do not stay. Without a sliding window the log starts anew.
func (k *Key) keep(stays func(i int) bool) {
	n := 0
	for i := range k.Parts {
		if stays(i) {
			if n < i {
				k.Parts[n] = k.Parts[i]
			}
			n++
		}
	}
	if n == len(k.Parts) {
		return
	}
	clear(k.Parts[n:])
	if k.Parts = k.Parts[:n]; k.logs() == 0 {
		k.Log = Log{First: k.Log.end(), Base: k.Log.sum(k.Log.end())}
	}
}

// logs returns the number of the key's sliding windows.
func (k *Key) logs() (n int) {
	for i := range k.Parts {
		if k.Parts[i].is(store.SlidingWindow) {
			n++
		}
	}
	return n
}

// expire moves the sliding windows on to an instant, and returns the first log entry that
// counts.
func (k *Key) expire(v int64) (first int64) {
	first = k.Log.end()
	for i := range k.Parts {
		if p := &k.Parts[i]; p.is(store.SlidingWindow) {
			k.Log.expire(&p.Rule, &p.State, v)
			first = min(first, p.State.A)
		}
	}
	return first
}

// lapse returns the time of the store from which a part is as if never used.
func (k *Key) lapse(p *Part) int64 {
	if p.Left > 0 {
		return p.Left
	}
	at := p.Rule.Lapse(&p.State, &k.Log)
	if p.inRealTime() {
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

// Found is a slot at which a key can serve a request.
type Found struct {
	V           int64   // the key's time now
	Floor, Slot int64   // in the key's time; Floor is rounded down
	Real        int64   // Slot by the store's clock
	Each        []int64 // by the store's clock: the slot of each charge's limit alone
	Parts       []int   // of each charge
	Places      []int   // of the charges in the request; nil: all, in order
	old         int     // number of parts before
	end         int64   // number of log entries before
	clock       Clock   // after the booking
	taken       uint64  // bits of the parts that a new limit has replaced
	natural     bool    // the slot is ahead, and the last limit, a bucket, admits no sooner
}

// room makes room for charges. A caller may bring its own, so that nothing is allocated.
func (f *Found) room(charges int) {
	if cap(f.Parts) < charges || cap(f.Each) < charges {
		f.Parts, f.Each = make([]int, charges), make([]int64, charges)
	}
	f.Parts, f.Each = f.Parts[:charges], f.Each[:charges]
}

// place returns the place of the j-th charge in the request; -1 for none.
func (f *Found) place(j int) int {
	if f.Places == nil || j < 0 {
		return j
	}
	return f.Places[j]
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
