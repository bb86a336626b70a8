package exact

import (
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Key is the state of one key. It changes only by its methods, which take the store's time
// in microseconds. The script of package redisstore keeps the same numbers under the same
// names.
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
	Credit Credit // of GCRA
	// Opened is the Queue.Seq of the first booking of the last window with a beginning,
	// and of the window before that.
	Opened [2]int64
	// Left is 0 if the last booking named the limit. Otherwise it is the store's time from
	// which the limit is as if never used, apart from later bookings that left it out.
	Left int64
}

// maxLeft is the maximum number of limits of a key that bookings left out.
const maxLeft = 8

// Queue has the slots booked ahead, in the key's time, and numbers the bookings that can be
// given back.
//
//	Last   the last booked slot, rounded down; it is over once v has come to it
//	First  the first slot that was ahead when Last was not over
//	Cost   of every booking ahead; 0: they differ, or several limits space them
//	Tag    tells this state from one after a Reset; 0: nothing can be given back
//	Seq    the number of changes since Tag was set
type Queue struct{ Last, First, Cost, Tag, Seq int64 }

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

// Open finds the parts of charges, all of this key. It adds limits that the key does not
// know: see adopt. Close undoes that unless the slot is booked.
func (k *Key) Open(f *Found, charges []store.Charge, now int64) {
	k.drop(now)
	f.V, f.old, f.end, f.taken = k.Clock.Now(now), len(k.Parts), k.Log.end(), 0
	f.room(len(charges))
	for i := range charges {
		f.Parts[i] = k.part(&charges[i].Limit, f.old)
	}
	for i := range charges {
		if f.Parts[i] < 0 {
			f.Parts[i] = k.adopt(f, &charges[i].Limit, now)
		}
	}
}

// room makes room for charges. A caller may bring its own, so that nothing is allocated.
func (f *Found) room(charges int) {
	if cap(f.Parts) < charges || cap(f.Each) < charges {
		f.Parts, f.Each = make([]int, charges), make([]int64, charges)
	}
	f.Parts = f.Parts[:charges]
	f.Each = f.Each[:charges]
}

// Close forgets the limits that Open added.
func (k *Key) Close(f *Found) {
	clear(k.Parts[f.old:])
	k.Parts = k.Parts[:f.old]
	k.Log.Entries = k.Log.Entries[:f.end-k.Log.First]
}

// part returns the index of a limit among the first n parts; -1: none.
func (k *Key) part(l *store.Limit, n int) int {
	for i := range n {
		if k.Parts[i].Rule.Is(l) {
			return i
		}
	}
	return -1
}

// drop forgets limits that bookings have left out until they lapsed.
func (k *Key) drop(now int64) {
	left := k.Parts[:0]
	for i := range k.Parts {
		if p := k.Parts[i]; p.Left == 0 || p.Left > now {
			left = append(left, p)
		}
	}
	k.keep(left)
}

// keep sets the remaining parts of the key. Without a sliding window the log starts anew.
func (k *Key) keep(left []Part) {
	if len(left) == len(k.Parts) {
		return
	}
	clear(k.Parts[len(left):])
	if k.Parts = left; !k.logs() {
		k.Log = Log{First: k.Log.end(), Base: k.Log.sum(k.Log.end())}
	}
}

// adopt adds a limit. It replaces, of the limits that this call leaves out, the one with the
// nearest period, and begins with the used share of that limit. A limit is replaced once.
// Without such a limit the new one begins unused.
//
// The share counts at the last booked slot: all slots booked ahead stay as they are.
func (k *Key) adopt(f *Found, l *store.Limit, now int64) int {
	for i := f.old; i < len(k.Parts); i++ {
		if k.Parts[i].Rule.Is(l) {
			return i
		}
	}
	v := max(f.V, k.Queue.Last)
	at := max(now, k.Clock.Real(v))
	n, d := int64(0), int64(1)
	if i := k.nearest(f, l.Period.Microseconds()); i >= 0 {
		p := &k.Parts[i]
		f.taken |= 1 << i
		t := v
		if InRealTime(p.Rule.Limit.Algorithm) {
			t = at
		}
		n, d = p.Rule.used(&p.State, &k.Log, t), p.Rule.Max
	}
	p := Part{Rule: RuleOf(l)}
	var units int64
	p.State, units = p.Rule.Start(n, d, v, at)
	if l.Algorithm == store.SlidingWindow {
		p.State.A = k.adoptLog(f, v, units)
	}
	k.Parts = append(k.Parts, p)
	return len(k.Parts) - 1
}

// nearest returns the part that a limit replaces; -1: none.
func (k *Key) nearest(f *Found, period int64) int {
	best := -1
	for i := range min(f.old, 64) {
		if f.taken&(1<<i) != 0 || f.names(i) {
			continue
		}
		if best < 0 || nearer(period, k.Parts[i].Rule.Period, k.Parts[best].Rule.Period) {
			best = i
		}
	}
	return best
}

// nearer reports whether the ratio of p and a is smaller than the ratio of p and b.
func nearer(p, a, b int64) bool {
	return product.Compare(max(p, a), min(p, b), min(p, a), max(p, b)) < 0
}

// adoptLog starts the log with the used units of a sliding window, and returns the first
// entry that counts. If other sliding windows count, their entries are more exact.
func (k *Key) adoptLog(f *Found, v, units int64) (first int64) {
	first = f.end
	for i := range k.Parts {
		if p := &k.Parts[i]; p.Rule.Limit.Algorithm == store.SlidingWindow {
			k.Log.expire(&p.Rule, &p.State, f.V)
			first = min(first, p.State.A)
		}
	}
	if begun := k.Log.sum(k.Log.end()) - k.Log.sum(f.end); f.end == k.Log.First && units > begun {
		k.Log.Entries = append(k.Log.Entries[:0], Entry{v, k.Log.sum(f.end) + units})
	}
	return first
}

// others reports whether a part from before has no charge.
func (f *Found) others() bool {
	for i := range f.old {
		if !f.names(i) {
			return true
		}
	}
	return false
}

// names reports whether a charge names the i-th part.
func (f *Found) names(i int) bool {
	for _, p := range f.Parts {
		if p == i {
			return true
		}
	}
	return false
}
