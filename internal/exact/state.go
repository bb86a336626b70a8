package exact

import (
	"math/bits"

	"github.com/goweir/weir"
)

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
// limit is as if never used.
func View(l *weir.Limit, s State, now int64) (remaining, reset int64) {
	switch l.Algorithm {
	case weir.GCRA:
		remaining, reset = viewGCRA(l, s, now)
	case weir.SlidingWindow:
		remaining = l.Rate - s.A
		if s.B > 0 {
			reset = s.B + l.Period.Microseconds() - now
		}
	case weir.SlidingCounter:
		remaining, reset = viewCounter(l, s, now)
	default:
		remaining = l.Rate
		if end := s.A + l.Period.Microseconds(); s.B > 0 && now < end {
			remaining, reset = l.Rate-s.B, end-now
		}
	}
	return max(remaining, 0), max(reset, 0)
}

// viewGCRA: remaining is ⌊(now + capacity − base)/T⌋ with base = max(tat, now).
func viewGCRA(l *weir.Limit, s State, now int64) (remaining, reset int64) {
	num, den := Emission(l)
	ahead := Micros{s.A - now, s.B}
	if ahead.Whole < 0 {
		ahead = Micros{}
	}
	full := Span(l.Max(), num, den)
	if ahead.Whole > full.Whole || ahead.Whole == full.Whole && ahead.Rem >= full.Rem {
		return 0, ahead.Up()
	}
	// In units of 1/den µs: burst·num − ahead, over num.
	hi, lo := bits.Mul64(uint64(l.Max()), uint64(num))
	usedHi, usedLo := bits.Mul64(uint64(ahead.Whole), uint64(den))
	usedLo, carry := bits.Add64(usedLo, uint64(ahead.Rem), 0)
	usedHi += carry
	lo, borrow := bits.Sub64(lo, usedLo, 0)
	hi, _ = bits.Sub64(hi, usedHi, borrow)
	q, _ := bits.Div64(hi, lo, uint64(num))
	return int64(q), ahead.Up()
}

func viewCounter(l *weir.Limit, s State, now int64) (remaining, reset int64) {
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
