package localstore

import "github.com/goweir/weir"

// entry is what is kept of one key.
type entry struct {
	id
	states  []state
	one     [1]state // the room of the common case
	last    int64    // the last booked slot, rounded down
	lapse   int64    // when all of it is as if never used
	version uint64   // of the state; a cancel puts it back with the state
	changes uint64   // versions there have been
}

// state is one limit's. Its type is that of its limit's algorithm; the unused
// ones stay nil.
type state struct {
	limit weir.Limit // without its name
	gcra  *gcra
	win   window
	log   *log
}

// rule is a limit without its name: what counting depends on.
func rule(l *weir.Limit) weir.Limit {
	r := *l
	r.Name = ""
	return r
}

// match makes the entry's states those of the limits of a group's charges, in
// their order. A limit keeps its state at another place; a new one takes over
// the first state left of its algorithm, else is fresh.
func (e *entry) match(charges []weir.Charge, places places, now int64) {
	if e.fits(charges, places) {
		return
	}
	old := append([]state(nil), e.states...)
	var states []state
	if places.n == 1 {
		states = e.one[:0]
	}
	for i := range places.n {
		states = append(states, state{limit: rule(&charges[places.at(i)].Limit)})
	}
	found := make([]bool, len(states))
	for i := range states {
		found[i] = inherit(&states[i], old, func(o *state) bool { return o.limit == states[i].limit })
	}
	for i := range states {
		s := &states[i]
		if found[i] {
			continue
		}
		was := s.limit
		if inherit(s, old, func(o *state) bool { return o.limit.Algorithm == was.Algorithm }) {
			before := s.limit
			s.limit = was
			s.adapt(&before, now)
		} else {
			s.fresh()
		}
	}
	if len(old) > 0 {
		e.last = 0
		e.change()
	}
	e.states = states
	e.settle()
}

// copy returns a copy to look at under other limits without changing e.
func (e *entry) copy() *entry {
	c := &entry{id: e.id, last: e.last, states: append([]state(nil), e.states...)}
	for i := range c.states {
		st := &c.states[i]
		if st.gcra != nil {
			st.gcra = st.gcra.copy(&st.limit)
		}
		if st.log != nil {
			l := *st.log
			l.entries = append([]taken(nil), l.entries...)
			st.log = &l
		}
	}
	return c
}

// inherit moves the first old state that suits into s.
func inherit(s *state, old []state, suits func(*state) bool) bool {
	for i := range old {
		if old[i].limit.Rate != 0 && suits(&old[i]) {
			*s, old[i] = old[i], state{}
			return true
		}
	}
	return false
}

func (e *entry) fits(charges []weir.Charge, places places) bool {
	if len(e.states) != places.n {
		return false
	}
	for i := range e.states {
		a, b := &e.states[i].limit, &charges[places.at(i)].Limit
		if a.Rate != b.Rate || a.Period != b.Period || a.Burst != b.Burst || a.Algorithm != b.Algorithm {
			return false
		}
	}
	return true
}

// change gives the state a version it never had.
func (e *entry) change() {
	e.changes++
	e.version = e.changes
}

// settle works out when the entry lapses.
func (e *entry) settle() {
	e.lapse = e.last
	for i := range e.states {
		e.lapse = max(e.lapse, e.states[i].lapse())
	}
}

// period returns the limit's period in microseconds.
func (s *state) period() int64 { return s.limit.Period.Microseconds() }
