package localstore

import (
	"slices"

	"github.com/goweir/weir/store"
)

// id is a key in a scope.
type id struct{ scope, key string }

// entry is what is kept of one key.
type entry struct {
	id
	states []state
	one    [1]state // the room of the common case
	line   line
	ahead  *ahead   // of the line
	brake  *braking // nil: none
	leases *leases  // nil: none
	lapse  int64    // when all of it is as if never used
	place  int      // in its shard
}

// line is where those who wait stand: the last booked slot, rounded down, and
// when a booking was made last. Both are 0 when no slot is still to come.
type line struct{ last, at int64 }

// booked returns the line after a booking made now.
func (l line) booked(floor, slot, now int64) line {
	switch {
	case slot > now:
		return line{floor, now}
	case l.last >= now:
		return line{l.last, now}
	}
	return line{}
}

// state is that of one limit.
type state struct {
	limit store.Limit // without its name, which counting does not depend on
	counting
}

// same reports whether limits count the same.
func same(a, b *store.Limit) bool {
	return a.Rate == b.Rate && a.Period == b.Period && a.Max() == b.Max() && a.Algorithm == b.Algorithm
}

// fits reports whether the entry's states are those of a group's charges.
func (e *entry) fits(charges []store.Charge, p places) bool {
	if len(e.states) != p.n {
		return false
	}
	for i := range e.states {
		if !same(&e.states[i].limit, &charges[p.at(i)].Limit) {
			return false
		}
	}
	return true
}

// match appends the states of the limits of a group's charges, in their order,
// to states, made of old ones, which it does not change, and reports whether
// some limit is gone. A limit keeps its state at another place; a new one takes
// over the first state left of its algorithm, else is fresh. Sliding windows
// leave theirs to all others: a log is as good for a limit that was added.
func match(states, old []state, charges []store.Charge, p places, now int64) (_ []state, gone bool) {
	left := slices.Clone(old)
	for i := range p.n {
		l := charges[p.at(i)].Limit
		l.Name = ""
		found := inherit(left, func(o *state) bool { return same(&o.limit, &l) })
		states = append(states, state{l, found})
	}
	gone = slices.ContainsFunc(left, func(o state) bool { return o.counting != nil })
	for i := range states {
		s := &states[i]
		if s.counting != nil {
			continue
		}
		from := inherit(left, func(o *state) bool { return o.limit.Algorithm == s.limit.Algorithm })
		if s.limit.Algorithm == store.SlidingWindow {
			from = longest(old)
		}
		if from == nil {
			s.counting = fresh(&s.limit)
		} else {
			s.counting = from.adapted(&s.limit, now)
		}
	}
	return states, gone
}

// inherit takes the first state that suits out of those left.
func inherit(left []state, suits func(*state) bool) counting {
	for i := range left {
		if c := left[i].counting; c != nil && suits(&left[i]) {
			left[i].counting = nil
			return c
		}
	}
	return nil
}

// longest returns the log that goes back the furthest.
func longest(states []state) (found counting) {
	var most int64
	for i := range states {
		if g, ok := states[i].counting.(*log); ok && g.period > most {
			found, most = g, g.period
		}
	}
	return found
}

// settle works out when the entry lapses.
func (e *entry) settle() {
	e.lapse = max(e.line.last, e.leases.lapse())
	for i := range e.states {
		e.lapse = max(e.lapse, e.states[i].lapse())
	}
	if e.brake != nil {
		e.lapse = max(e.lapse, e.brake.Lapse())
	}
}
