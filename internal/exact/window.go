package exact

import (
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Fixed and aligned windows have the last window and its units. A fixed window opens at
// its first unit, an aligned one at a multiple of the period.

func windowSlot(r *Rule, s *State, b, units int64) int64 {
	b = max(b, s.A)
	if s.B+units > r.Max && b < s.A+r.Period {
		b = s.A + r.Period
	}
	return b
}

func windowBook(r *Rule, s *State, at, units int64) {
	if s.B == 0 && at > s.A || at >= s.A+r.Period {
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
	weight := mulDivUp(prev, r.Period-max(at-start, 0), r.Period)
	switch {
	case cur > 0:
		reset = start + 2*r.Period - at
	case prev > 0:
		reset = start + r.Period - at
	}
	if cur == 0 && at < start { // See windowView.
		return 0, max(reset, start-at)
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
