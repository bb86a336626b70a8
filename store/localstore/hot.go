package localstore

import (
	"math"
	"sync/atomic"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// hot is a small key that is asked for again and again. While it is hot its state
// is here, and goes on without the lock of its shard, for which its calls would
// wait: it is one number, as that of a GCRA limit whose units take whole
// microseconds is. Its slot in the table stays, and says where it is.
type hot struct {
	tat   atomic.Int64 // µs, or cooled
	class *class
	hash  uint64
	n     uint8
	text  [37]byte // as a slot's
}

const (
	// cooled is in place of a TAT that is in the table.
	cooled = math.MinInt64
	// isHot is in place of a remainder where the state is not in the table; what
	// follows it is the place.
	isHot = -1

	hotPlaces = 64 // of a shard
	// mostLate is how much longer, in µs, a call may have taken from the clock to
	// the state than another one that has changed it: what comes this close to a
	// slot looks at the clock once more before it is refused.
	mostLate = 10_000
	// looksForHot is how many calls of a shard's other keys there are for one that
	// is looked at: keys that come again soon do so often.
	looksForHot = 8
)

// hots are a shard's hot keys, by their hashes: one for those that share a place.
type hots struct {
	keys [hotPlaces]atomic.Pointer[hot]
	next [hotPlaces]candidate // under the lock
	_    [64]byte
}

// candidate is the key that was seen last at a place, and the TAT of the one that
// is hot there, which stays so if it was used since.
type candidate struct {
	hash uint64
	tat  int64
}

func placeOf(h uint64) int { return int(h >> 14 % hotPlaces) }

// of returns the hot key that is asked for, or nil.
func (h *hots) of(a *ask) *hot {
	k := h.keys[placeOf(a.hash)].Load()
	if k == nil || string(k.text[:k.n]) != a.key {
		return nil
	}
	if c := k.class; c != a.class && (c.scope != a.scope || !c.is(a.limit, nil)) {
		return nil
	}
	return k
}

// take is takeSmall for a hot key. It reports false, and has changed nothing, when
// it is hot no more or has to be booked ahead.
func (k *hot) take(s *Store, a *ask, now int64) (o store.Outcome, done bool) {
	c := k.class
	takes := a.cost > 0 && a.cost <= c.Max
	for again := true; ; {
		tat := k.tat.Load()
		if tat == cooled {
			return o, false
		}
		st, slot := exact.State{A: tat}, now
		if takes {
			_, slot = c.Slot(&st, nil, now, min(a.cost+a.leave, c.Max))
		}
		switch wait := slot - now; {
		case wait > 0 && wait <= mostLate && again:
			now, again = s.now(), false
			continue
		case wait > 0 && wait <= a.maxWait:
			return o, false
		case wait == 0 && takes:
			c.Book(&st, now, a.cost)
			if !k.tat.CompareAndSwap(tat, st.A) {
				continue
			}
		}
		return c.outcome(&st, a.cost, slot, now), true
	}
}

// cool has the state of a slot be in the table.
func (h *hots) cool(at *small) {
	if at.state.B == isHot {
		at.state = exact.State{A: h.keys[at.state.C].Load().tat.Swap(cooled)}
	}
}

// lapsed reports whether a hot key, which it cools then, is as if never used.
func (h *hots) lapsed(at *small, now int64) bool {
	k := h.keys[at.state.C].Load()
	tat := k.tat.Load()
	if tat > now || !k.tat.CompareAndSwap(tat, cooled) {
		return false
	}
	at.state = exact.State{A: tat}
	return true
}

// heed looks at one of several calls of keys that are not hot, and makes that key
// hot when it was the last one of its place as well, and the one that is hot there
// was not used since. The shard is locked.
func (sh *shard) heed(hash uint64, i int) {
	if sh.calls++; sh.calls%looksForHot != 0 {
		return
	}
	h, at := &sh.hot, &sh.small.slots[i]
	c := sh.small.classes[at.class].of
	if !c.whole || c.more != nil || at.n == isLong {
		return
	}
	place := placeOf(hash)
	k, seen := h.keys[place].Load(), candidate{hash, cooled}
	if k != nil {
		seen.tat = k.tat.Load()
	}
	if h.next[place] != seen {
		h.next[place] = seen
		return
	}
	if k == nil || k.hash != hash || k.class != c || k.n != at.n || k.text != at.text {
		if seen.tat != cooled {
			sh.coolOther(k)
		}
		k = &hot{class: c, hash: hash, n: at.n, text: at.text}
	}
	k.tat.Store(at.state.A)
	h.keys[place].Store(k)
	at.state = exact.State{B: isHot, C: int64(place)}
}

// coolOther cools a key that makes place for another.
func (sh *shard) coolOther(k *hot) {
	other := id{k.class.scope, string(k.text[:k.n])}
	if i := sh.small.find(k.hash, &other, k.class); i >= 0 {
		sh.hot.cool(&sh.small.slots[i])
	}
}
