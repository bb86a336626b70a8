package localstore

import (
	"math"
	"sync/atomic"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// hot is a small key in constant use. Its state is here, and changes without the shard's
// lock. The state is one number: the TAT of a GCRA limit whose units take whole microseconds.
// The key's slot stays in the table and refers to it.
type hot struct {
	tat   atomic.Int64 // µs, or cooled
	class *class
	hash  uint64
	n     uint8
	text  [37]byte // as a slot's
}

const (
	// cooled replaces a TAT that is in the table.
	cooled = math.MinInt64
	// isHot replaces the remainder (State.B) in the slot of a hot key. State.C is then the key's
	// place in hots.
	isHot = -1

	hotPlaces = 64 // of a shard
	// maxLate is the longest time, in µs, from a call's look at the clock to its change of a
	// state. A call refused for at most that long looks at the clock again, as a later call
	// may have been faster.
	maxLate = 10_000
)

// hots are a shard's hot keys, by their hashes: one for each place.
type hots struct {
	keys [hotPlaces]atomic.Pointer[hot]
	next [hotPlaces]candidate // under the lock
	_    [64]byte
}

// candidate is the last key seen at a place, and the TAT that the place's hot key had then.
// A hot key used since then stays hot.
type candidate struct {
	hash uint64
	tat  int64
}

func placeOf(h uint64) int { return int(h >> 14 % hotPlaces) }

// of returns the hot key of a request, or nil.
func (h *hots) of(a *ask) *hot {
	k := h.keys[placeOf(a.hash)].Load()
	if k == nil || string(k.text[:k.n]) != a.key {
		return nil
	}
	if c := k.class; c != a.class && (c.scope != a.scope || !c.is(a.charges)) {
		return nil
	}
	return k
}

// take decides a request for a hot key. It reports false, and has changed nothing, if the key
// has cooled.
func (k *hot) take(a *ask, now int64, clock func() int64) (o store.Outcome, done bool) {
	c := k.class
	takes := a.cost > 0 && a.cost <= c.Max
	for again := true; ; {
		tat := k.tat.Load()
		if tat == cooled {
			return o, false
		}
		st, slot := exact.State{A: tat}, now
		if takes {
			_, slot = c.Slot(&st, nil, now, min(a.cost+a.reserve, c.Max))
		}
		switch wait := slot - now; {
		case wait > 0 && wait <= maxLate && again:
			now, again = clock(), false
			continue
		case wait == 0 && takes:
			c.Book(&st, now, a.cost)
			if !k.tat.CompareAndSwap(tat, st.A) {
				continue
			}
		}
		remaining, reset := c.Pace.View(exact.Micros{Whole: st.A}, now)
		return c.outcome(remaining, reset, a.cost, slot, now), true
	}
}

// cool moves the state of a hot key back into its slot.
func (h *hots) cool(at *small) {
	if at.state.B == isHot {
		at.state = exact.State{A: h.keys[at.state.C].Load().tat.Swap(cooled)}
	}
}

// lapsed reports whether a hot key is as if never used. It cools such a key.
func (h *hots) lapsed(at *small, now int64) bool {
	k := h.keys[at.state.C].Load()
	tat := k.tat.Load()
	if tat > now || !k.tat.CompareAndSwap(tat, cooled) {
		return false
	}
	at.state = exact.State{A: tat}
	return true
}
