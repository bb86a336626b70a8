package exact

import "github.com/goweir/weir/store"

// GCRA, the generic cell rate algorithm of ITU-T I.371: a bucket of Max units that
// fills by one unit each emission interval T. It is full at its TAT.

// gcraSlot returns the first instant t from b on with TAT + units·T − Max·T ≤ t.
func gcraSlot(r *Rule, s *State, b, units int64) (floor, slot int64) {
	t := Micros{s.A, s.B}.Plus(r.Pace.Span(units), r.Pace.Den).Minus(r.Pace.Full, r.Pace.Den)
	if t.Whole < b {
		return b, b
	}
	return t.Whole, t.up()
}

// gcraBook moves the TAT on from floor, or from the TAT if that is later.
func gcraBook(r *Rule, s *State, floor, units int64) {
	t := Micros{s.A, s.B}
	if t.Whole < floor {
		t = Micros{Whole: floor}
	}
	t = t.Plus(r.Pace.Span(units), r.Pace.Den)
	s.A, s.B = t.Whole, t.Rem
}

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

// View returns how many units remain at an instant, and how long until the limit is
// as if never used. Without a log, A of a sliding window is its live units, and B the slot
// of the newest one.
func (r *Rule) View(s *State, log *Log, at int64) (remaining, reset int64) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		return r.Pace.View(Micros{s.A, min(max(s.B, 0), r.Pace.Den-1)}, at)
	case store.SlidingWindow:
		seen := *s
		if log != nil {
			seen = log.seen(r, s, at)
		}
		if remaining = r.Max; seen.A > 0 && seen.B+r.Period > at {
			remaining, reset = r.Max-seen.A, seen.B+r.Period-at
		}
	case store.SlidingCounter:
		remaining, reset = counterView(r, s, at)
	default:
		remaining, reset = windowView(r, s, at)
	}
	return max(remaining, 0), max(reset, 0)
}

// View returns how many units of a limit the next calls can take, and the time until it is
// as if never used. The state is as for Rule.View.
func View(r *Rule, s *State, log *Log, c *Clock, now int64) (remaining, reset int64) {
	if InRealTime(r.Limit.Algorithm) {
		remaining, reset = r.View(s, nil, now)
	} else {
		at := c.Now(now)
		remaining, reset = r.View(s, log, at)
		reset = c.Real(at+reset) - now
	}
	switch {
	case c.Next > c.Now(now):
		remaining, reset = 0, max(reset, c.Real(c.Next)-now, c.Until-now)
	case c.Paused(now):
		remaining, reset = 0, max(reset, c.Until-now)
	case c.Slow(now):
		remaining = min(remaining, 1)
	}
	return remaining, max(reset, 0)
}

// Lapse returns the instant from which the limit is as if never used.
func (r *Rule) Lapse(s *State, log *Log) int64 {
	switch r.Limit.Algorithm {
	case store.GCRA:
		return Micros{s.A, s.B}.up()
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
// as for View without a log.
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
	ahead := max(Micros{s.A, s.B}.up()-at, 0)
	if ahead > r.Pace.Full.Whole {
		return r.Max
	}
	return min(mulDivUp(ahead, r.Pace.Den, r.Pace.Num), r.Max)
}

// Start returns the first state of a limit that begins with used units.
func (r *Rule) Start(units, v, now int64) (s State) {
	switch r.Limit.Algorithm {
	case store.GCRA:
		gcraBook(r, &s, v, units)
	case store.SlidingCounter, store.AlignedWindow:
		s = State{A: align(now, r.Period), B: units}
	case store.FixedWindow:
		s = State{A: now, B: units}
	}
	return s
}
