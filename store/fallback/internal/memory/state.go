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

func usedOf(s *exact.State) store.Used {
	return store.Used{At: store.Instant(s.A), Units: s.B, Before: s.C}
}
