package exact

import "github.com/goweir/weir/internal/product"

// The sliding counter has the last aligned window, its units, and the units of the window
// before. These weigh less as the window goes on.

// counterSlot returns the first instant from b on at which
// prev·(period − elapsed) + (cur + units)·period ≤ max·period.
func counterSlot(r *Rule, s *State, b, units int64) int64 {
	start, cur, prev := counterRoll(r, s, b)
	b = max(b, start)
	room := r.Max - cur - units
	if room < 0 {
		start, prev, room = start+r.Period, cur, r.Max-units
		b = start
	}
	if prev > room && product.Compare(room, r.Period, prev, r.Period-(b-start)) < 0 {
		q, _ := MulDiv(room, r.Period, prev)
		b = start + r.Period - q
	}
	return b
}

func counterBook(r *Rule, s *State, at, units int64) {
	s.A, s.B, s.C = counterRoll(r, s, at)
	s.B += units
}

func counterView(r *Rule, s *State, at int64) (remaining, reset int64) {
	start, cur, prev := counterRoll(r, s, at)
	weight, rest := MulDiv(prev, r.Period-max(at-start, 0), r.Period)
	if rest {
		weight++
	}
	switch {
	case cur > 0:
		reset = start + 2*r.Period - at
	case prev > 0:
		reset = start + r.Period - at
	}
	return r.Max - cur - weight, reset
}

func counterLapse(r *Rule, s *State) int64 {
	switch {
	case s.B > 0:
		return s.A + 2*r.Period
	case s.C > 0:
		return s.A + r.Period
	}
	return s.A
}

// counterSettle corrects the units of the booking seq, if one of the two windows
// holds it.
func counterSettle(p *Part, seq, more, now int64) bool {
	s := &p.State
	switch {
	case seq >= p.Opened[0] && now < s.A+2*p.Rule.Period:
		s.B = corrected(s.B, more)
	case seq >= p.Opened[1] && seq < p.Opened[0] && now < s.A+p.Rule.Period:
		s.C = corrected(s.C, more)
	default:
		return more > 0 && now < s.A
	}
	return true
}

// counterRoll returns the window that holds an instant, its units and the units before it.
func counterRoll(r *Rule, s *State, t int64) (start, cur, prev int64) {
	switch {
	case t < s.A+r.Period:
		return s.A, s.B, s.C
	case t < s.A+2*r.Period:
		return s.A + r.Period, 0, s.B
	}
	return align(t, r.Period), 0, 0
}
