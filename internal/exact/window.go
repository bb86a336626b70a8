package exact

import "github.com/goweir/weir/store"

// Fixed and aligned windows: the last window and its units. A fixed window opens at
// its first unit, an aligned one at a multiple of the period.

func windowSlot(r *Rule, s *State, b, units int64) int64 {
	b = max(b, s.A)
	if s.B+units > r.Max && b < s.A+r.Period {
		b = s.A + r.Period
	}
	return b
}

func windowBook(r *Rule, s *State, at, units int64) {
	if s.B == 0 || at >= s.A+r.Period {
		s.A, s.B = at, 0
		if r.Limit.Algorithm == store.AlignedWindow {
			s.A = align(at, r.Period)
		}
	}
	s.B += units
}

// windowView returns the state of the last window. If that window is ahead and empty, its
// units were given back. The units of the present one are then unknown, so none is free
// before it starts.
func windowView(r *Rule, s *State, at int64) (remaining, reset int64) {
	switch {
	case s.B > 0 && at < s.A+r.Period:
		return r.Max - s.B, s.A + r.Period - at
	case at < s.A:
		return 0, s.A - at
	}
	return r.Max, 0
}

// windowSettle corrects the units of the booking seq, if the last window holds it. Debt in
// an earlier window is a change too: it prevents the undo of bookings after it.
func windowSettle(p *Part, seq, more, now int64) bool {
	if seq < p.Opened[0] {
		return more > 0 && now < p.State.A // Its window may still be open.
	}
	if now >= p.State.A+p.Rule.Period {
		return false
	}
	p.State.B = corrected(p.State.B, more)
	return true
}

// corrected returns the units of a window after a correction.
func corrected(units, more int64) int64 { return min(max(units+more, 0), max(units, MostUnits)) }
