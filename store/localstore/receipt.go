package localstore

import "github.com/goweir/weir"

// receipt is what cancelling a booking takes.
type receipt struct {
	slot int64
	keys []kept
}

// kept is one key as it was before a booking.
type kept struct {
	id
	version uint64 // the entry's after the booking
	was     uint64 // and before it
	last    int64
	limits  []weir.Limit
	costs   []int64
	before  []before
}

// before is what a limit's state is put back to.
type before struct {
	win   window
	at    int64   // GCRA
	ahead float64 // GCRA: full so many ns after at
	track struct {
		on    bool
		slack float64
		full  int64
	}
}

func newKept(e *entry, charges []weir.Charge, p places) kept {
	k := kept{id: e.id, last: e.last, was: e.version}
	for j := range e.states {
		st := &e.states[j]
		b := before{win: st.win}
		if g := st.gcra; g != nil {
			b.at, b.ahead = g.at, (g.burst-g.tokens(g.at))*g.unit
			b.track.on, b.track.slack, b.track.full = g.tracked, g.slack, g.full
		}
		k.limits = append(k.limits, st.limit)
		k.costs = append(k.costs, charges[p.at(j)].Cost)
		k.before = append(k.before, b)
	}
	return k
}

func (k *kept) cancel(s *Store, slot int64) {
	sh := s.shard(k.id)
	sh.Lock()
	defer sh.Unlock()
	e := sh.keys[k.id]
	if e == nil || len(e.states) != len(k.limits) {
		return
	}
	for j := range e.states {
		if e.states[j].limit != k.limits[j] {
			return
		}
	}
	exact, changed := e.version == k.version, false
	for j := range e.states {
		st := &e.states[j]
		cost := k.costs[j]
		switch {
		case cost == 0:
		case !exact || st.log != nil:
			changed = st.unbook(slot, cost) || changed
		case st.gcra != nil:
			g, b := st.gcra, &k.before[j]
			g.at = b.at
			g.set(b.ahead)
			g.tracked, g.slack, g.full = b.track.on, b.track.slack, b.track.full
		default:
			st.win = k.before[j].win
		}
	}
	if exact {
		e.last, e.version = k.last, k.was
	} else if changed {
		e.change()
	}
	e.settle()
}
