package memory

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// States are those of package exact. A sliding window's state is the slot A of its newest
// unit, and the units B that count.

// lapse returns the instant at which a limit is as if never used.
func lapse(r *exact.Rule, s *exact.State) int64 {
	if r.Limit.Algorithm == store.SlidingWindow {
		return s.A + r.Period
	}
	return r.Lapse(s, nil)
}

// book takes units at an instant. A sliding window counts all units of two aligned periods
// at the newest slot; C is the part of the later period.
func book(r *exact.Rule, s *exact.State, at, units int64) {
	if r.Limit.Algorithm != store.SlidingWindow {
		r.Book(s, at, units)
		return
	}
	switch {
	case s.A+r.Period <= at:
		s.B, s.C = 0, 0
	case s.A/r.Period < at/r.Period:
		s.B, s.C = s.C, 0
	}
	s.A, s.B, s.C = max(s.A, at), s.B+units, s.C+units
}

// bookAhead is book for any number of units. Later windows count the excess.
func bookAhead(r *exact.Rule, s *exact.State, at, units int64) {
	book(r, s, at, units)
	if r.Limit.Algorithm == store.SlidingWindow && units <= r.Max {
		s.B = min(s.B, r.Max) // Older units count no more.
	}
	if n := (s.B - 1) / r.Max; r.Limit.Algorithm != store.GCRA && n > 0 {
		s.A, s.B = s.A+n*r.Period, s.B-n*r.Max
	}
}

// correct changes the units of a booking at an instant, if they still count.
func correct(r *exact.Rule, s *exact.State, at, more int64) {
	switch {
	case r.Limit.Algorithm == store.GCRA && more < 0:
		r.Undo(s, -more)
	case r.Limit.Algorithm == store.GCRA:
		r.Book(s, 0, more)
	case r.Limit.Algorithm == store.SlidingWindow && at/r.Period < s.A/r.Period-1: // They count no more.
	case r.Limit.Algorithm == store.SlidingWindow:
		if s.B = max(s.B+more, 0); at/r.Period == s.A/r.Period {
			s.C = max(s.C+more, 0)
		}
	case at >= s.A:
		s.B = max(s.B+more, 0)
	case r.Limit.Algorithm == store.SlidingCounter && at >= s.A-r.Period:
		s.C = max(s.C+more, 0)
	}
}

// larger returns the fuller state at an instant, of the primary's and the one of units
// admitted here. Open windows of both are the same window.
func larger(r *exact.Rule, said, here exact.State, now int64) exact.State {
	later := said
	if here.A > said.A || here.A == said.A && here.B > said.B {
		later = here
	}
	switch {
	case lapse(r, &here) <= now:
		return said
	case lapse(r, &said) <= now:
		return here
	case r.Limit.Algorithm == store.GCRA || later.A > now:
		return later
	case r.Limit.Algorithm == store.SlidingWindow:
		return exact.State{A: later.A, B: max(said.B, here.B)}
	case r.Limit.Algorithm == store.SlidingCounter && here.A < said.A:
		said.C = max(said.C, here.B)
	default:
		said.B = max(said.B, here.B)
	}
	return said
}

func usedOf(s *exact.State) store.Used {
	return store.Used{At: store.Instant(s.A), Units: s.B, Before: s.C}
}
