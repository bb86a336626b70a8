package exact

import "github.com/goweir/weir/store"

// Rule is a limit with the numbers that every decision needs.
type Rule struct {
	Limit  store.Limit // without its name
	Max    int64
	Period int64 // in µs
	Pace   Pace  // of GCRA
}

// RuleOf returns the rule of a valid limit.
func RuleOf(l *store.Limit) Rule {
	r := Rule{Limit: *l, Max: l.Max(), Period: l.Period.Microseconds()}
	r.Limit.Name = ""
	if l.Algorithm == store.GCRA {
		r.Pace = PaceOf(l)
	}
	return r
}

// Is reports whether a limit counts as the rule does. Names do not matter.
func (r *Rule) Is(l *store.Limit) bool {
	return r.Limit.Rate == l.Rate && r.Limit.Period == l.Period && r.Max == l.Max() && r.Limit.Algorithm == l.Algorithm
}

// State is the state of one limit of one key. Instants of GCRA and of the sliding window are
// in the key's time v. Instants of windows with a beginning are in the store's time.
//
//	GCRA            A.B  theoretical arrival time (TAT): whole µs, remainder
//	SlidingWindow   A    entries of the log before the first live one; B their units
//	SlidingCounter  A    start of the last window; B its units; C units of the one before
//	FixedWindow     A    start of the last window; B its units
//	AlignedWindow   A    start of the last window; B its units
type State struct{ A, B, C int64 }

// InRealTime reports whether a limit counts windows with a beginning. These follow the
// store's time, as a provider's windows do.
func InRealTime(a store.Algorithm) bool { return a != store.GCRA && a != store.SlidingWindow }

// Slot returns the earliest instant from b on at which the limit admits units, rounded
// down and up. A sliding window needs its log.
func (r *Rule) Slot(s *State, log *Log, b, units int64) (floor, slot int64) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		return gcraSlot(r, s, b, units)
	case store.SlidingWindow:
		slot = log.slot(r, s, b, units)
	case store.SlidingCounter:
		slot = counterSlot(r, s, b, units)
	default:
		slot = windowSlot(r, s, b, units)
	}
	return slot, slot
}

// Book takes units at an instant. floor is rounded down, otherwise GCRA would drift.
func (r *Rule) Book(s *State, floor, units int64) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		gcraBook(r, s, floor, units)
	case store.SlidingWindow: // Key.Book adds the entry for all sliding windows.
	case store.SlidingCounter:
		counterBook(r, s, floor, units)
	default:
		windowBook(r, s, floor, units)
	}
}

// bound caps the numbers of a limit when settled costs exceed its capacity.
func (r *Rule) bound(s *State, v int64) {
	switch most := v + r.Pace.Full.Whole + MostDebt; {
	case r.Limit.Algorithm != store.GCRA:
		s.B = min(s.B, MostUnits)
	case s.A > most:
		s.A, s.B = most, 0
	}
}

// View returns how many units remain at an instant, and how long until the limit is
// as if never used.
func (r *Rule) View(s *State, log *Log, at int64) (remaining, reset int64) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		return r.Pace.View(Micros{s.A, min(max(s.B, 0), r.Pace.Den-1)}, at)
	case store.SlidingWindow:
		seen := log.seen(r, s, at)
		if remaining = r.Max - seen.A; seen.A > 0 {
			reset = seen.B + r.Period - at
		}
	case store.SlidingCounter:
		remaining, reset = counterView(r, s, at)
	default:
		remaining, reset = windowView(r, s, at)
	}
	return max(remaining, 0), max(reset, 0)
}

// Lapse returns the instant from which the limit is as if never used.
func (r *Rule) Lapse(s *State, log *Log) int64 {
	switch r.Limit.Algorithm {
	case store.GCRA:
		return Micros{s.A, s.B}.Up()
	case store.SlidingWindow:
		return log.newest() + r.Period
	case store.SlidingCounter:
		return counterLapse(r, s)
	}
	if s.B == 0 {
		return s.A // The units of the window before are not known any more.
	}
	return s.A + r.Period
}

// Undo takes off the last units, all booked at one instant. The State of a sliding window is
// as for View.
func (r *Rule) Undo(s *State, units int64) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		t := Micros{s.A, s.B}.Minus(r.Pace.Span(units), r.Pace.Den)
		s.A, s.B = t.Whole, t.Rem
	case store.SlidingWindow:
		s.A -= units
	default:
		s.B -= units
	}
}

// used returns how many units are used at an instant, rounded up, at most Max.
func (r *Rule) used(s *State, log *Log, at int64) int64 {
	if r.Limit.Algorithm != store.GCRA {
		remaining, _ := r.View(s, log, at)
		return r.Max - remaining
	}
	ahead := max(Micros{s.A, s.B}.Up()-at, 0)
	if ahead > r.Pace.Full.Whole {
		return r.Max
	}
	units, rest := MulDiv(ahead, r.Pace.Den, r.Pace.Num)
	if rest {
		units++
	}
	return min(units, r.Max)
}

// Start returns the first state of a limit that replaces another, given the used share n/d
// of that limit.
func (r *Rule) Start(n, d, v, now int64) (s State, units int64) {
	units, rest := MulDiv(min(n, d), r.Max, d)
	if rest {
		units++
	}
	switch r.Limit.Algorithm {
	case store.GCRA:
		s.A = v
	case store.SlidingCounter, store.AlignedWindow:
		s.A = align(now, r.Period)
	case store.FixedWindow:
		s.A = now
	}
	if InRealTime(r.Limit.Algorithm) {
		v = now
	}
	if units > 0 {
		r.Book(&s, v, units)
	}
	return s, units
}
