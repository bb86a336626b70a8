package exact

import (
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// UsedOf returns the used part of a limit from a decision at an instant of the store. A
// decision does not split the units of a sliding counter between its two windows: all count
// in the later one.
func UsedOf(l *store.Limit, st store.ChargeState, at store.Instant) (u store.Used) {
	r := RuleOf(l)
	reset := store.Instant(Whole(st.ResetAfter))
	if reset == 0 {
		return u
	}
	u.At, u.Units = at+reset, max(r.Max-st.Remaining, 0)
	switch period := store.Instant(r.Period); {
	case l.Algorithm == store.GCRA:
		u.Units = 0
	case l.Algorithm == store.SlidingCounter && reset > period:
		u.At -= 2 * period
	case l.Algorithm == store.SlidingCounter:
		u.At -= period
		u.Before, u.Units = unweighted(u.Units, int64(period), int64(reset)), 0
	default:
		u.At -= period
	}
	return u
}

// unweighted returns the units of the window before that weigh as much as units in the
// present one. counts is the part of its period that still counts. It returns at most
// MostUnits.
func unweighted(units, period, counts int64) int64 {
	if product.Compare(units, period, MostUnits, counts) >= 0 {
		return MostUnits
	}
	return mulDivUp(units, period, counts)
}

// StateOf returns the state of a used limit. A sliding window also needs its log. Windows
// that start at multiples of the period keep their distance to the present one.
func (r *Rule) StateOf(u store.Used, then, now int64) State {
	s := State{A: int64(u.At), B: u.Units, C: u.Before}
	switch r.Limit.Algorithm {
	case store.GCRA:
		s = State{A: s.A + now - then, B: min(s.B, r.Pace.Den-1)}
	case store.FixedWindow:
		s.A += now - then
	case store.AlignedWindow, store.SlidingCounter:
		s.A = align(now, r.Period) - align(then, r.Period) + align(s.A, r.Period)
	}
	if s.A < 0 {
		return State{}
	}
	return s
}
