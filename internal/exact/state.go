package exact

import "github.com/goweir/weir/store"

// State is what a store knows of one limit of one key, as the stores hand it
// over for reporting. What the numbers mean depends on the algorithm:
//
//	GCRA            A.B  theoretical arrival time: whole µs, remainder
//	SlidingWindow   A    live units; B time of the newest entry, 0 if none
//	SlidingCounter  A    start of the last window; B its units; C the units before
//	FixedWindow     A    start of the last window; B its units
//	AlignedWindow   A    start of the last window; B its units
type State struct{ A, B, C int64 }

// View returns what is remaining at now and after how many microseconds the
// limit is as if never used. Numbers of 0 to 2^53, which is all that can be
// found in a store, never make it panic, whoever wrote them.
func View(l *store.Limit, s State, now int64) (remaining, reset int64) {
	switch l.Algorithm {
	case store.GCRA:
		p := PaceOf(l)
		remaining, reset = p.View(Micros{s.A, min(max(s.B, 0), p.Den-1)}, now)
	case store.SlidingWindow:
		remaining = l.Rate - s.A
		if s.B > 0 {
			reset = s.B + l.Period.Microseconds() - now
		}
	case store.SlidingCounter:
		remaining, reset = viewCounter(l, s, now)
	default:
		remaining = l.Rate
		if end := s.A + l.Period.Microseconds(); s.B > 0 && now < end {
			remaining, reset = l.Rate-s.B, end-now
		}
	}
	return max(remaining, 0), max(reset, 0)
}

func viewCounter(l *store.Limit, s State, now int64) (remaining, reset int64) {
	p := l.Period.Microseconds()
	start, cur, prev := Roll(s, p, now)
	elapsed := max(now-start, 0)
	weight, rest := MulDiv(prev, p-elapsed, p)
	if rest {
		weight++
	}
	switch {
	case cur > 0:
		reset = start + 2*p - now
	case prev > 0:
		reset = start + p - now
	}
	return l.Rate - cur - weight, reset
}

// Before returns the state before units were taken that were the last, at the same
// instant as those before them.
func (s State) Before(l *store.Limit, units int64) State {
	switch {
	case units == 0:
	case l.Algorithm == store.GCRA:
		p := PaceOf(l)
		t := Micros{s.A, s.B}.Minus(p.Span(units), p.Den)
		s.A, s.B = t.Whole, t.Rem
	case l.Algorithm == store.SlidingWindow:
		s.A -= units
	default:
		s.B -= units
	}
	return s
}

// Roll returns a sliding counter's window at t, its units and those before it.
func Roll(s State, p, t int64) (start, cur, prev int64) {
	switch {
	case t < s.A+p:
		return s.A, s.B, s.C
	case t < s.A+2*p:
		return s.A + p, 0, s.B
	}
	return t - t%p, 0, 0
}
