// Package exact is the arithmetic of limits, in one place for every store:
// whole microseconds, exact fractions, products of 128 bits.
package exact

import (
	"math/bits"
	"time"

	"github.com/goweir/weir/store"
)

// Bounds of debt. Within them the arithmetic of every store is exact.
const (
	// MostDebt is the maximum debt of a bucket, in microseconds beyond an empty one. It is
	// also the longest wait of a call.
	MostDebt = int64(store.MaxPeriod / 4 / time.Microsecond)
	// MostUnits is the maximum number of units of a window after settling.
	MostUnits = 2 * store.MaxUnits
)

// MulDiv returns a·b/c rounded down, and whether there was a remainder. The
// quotient must fit; all arguments are 0 or more, c is positive.
func MulDiv(a, b, c int64) (q int64, rest bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	quo, rem := bits.Div64(hi, lo, uint64(c))
	return int64(quo), rem != 0
}

// mulDivUp returns a·b/c rounded up.
func mulDivUp(a, b, c int64) int64 {
	q, rest := MulDiv(a, b, c)
	if rest {
		q++
	}
	return q
}

// Whole returns a duration in whole microseconds, rounded up.
func Whole(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

func micros(n int64) time.Duration { return max(time.Duration(n)*time.Microsecond, 0) }

// align returns the start of the window of length p, counted from the Unix epoch,
// that holds t.
func align(t, p int64) int64 { return t - t%p }

// corrected returns the units of a window after a correction.
func corrected(units, more int64) int64 { return min(max(units+more, 0), max(units, MostUnits)) }

// Micros is a time or a duration in whole microseconds and a fraction of one:
// Rem over a denominator that the limit gives (see emission).
type Micros struct{ Whole, Rem int64 }

// up returns m rounded up to whole microseconds.
func (m Micros) up() int64 { return m.Whole + min(m.Rem, 1) }

// Less reports whether m < n. Both have the same denominator.
func (m Micros) Less(n Micros) bool {
	return m.Whole < n.Whole || m.Whole == n.Whole && m.Rem < n.Rem
}

// Plus returns m + n. Both have the denominator den.
func (m Micros) Plus(n Micros, den int64) Micros {
	m.Whole += n.Whole
	if m.Rem += n.Rem; m.Rem >= den {
		m.Whole, m.Rem = m.Whole+1, m.Rem-den
	}
	return m
}

// Minus returns m − n. If that is negative, Whole is negative and Rem is not. Both have the
// denominator den.
func (m Micros) Minus(n Micros, den int64) Micros {
	m.Whole -= n.Whole
	if m.Rem -= n.Rem; m.Rem < 0 {
		m.Whole, m.Rem = m.Whole-1, m.Rem+den
	}
	return m
}

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
		p := &r.Pace
		p.most = r.Max
		p.Num, p.Den = emission(l)
		p.Full, p.one = p.span(r.Max), p.span(1)
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

// Window is a window with a beginning that counted a booking. Brakes move it: see Move.Counts.
type Window struct {
	Algorithm     store.Algorithm
	Period, Start int64
	moved         int64 // when the last brake was set that moved it
}

// InRealTime reports whether a limit counts windows with a beginning. These follow the
// store's time, as a provider's windows do.
func InRealTime(a store.Algorithm) bool { return a != store.GCRA && a != store.SlidingWindow }

// emission returns the emission interval of a valid limit in microseconds as a
// reduced fraction num/den.
func emission(l *store.Limit) (num, den int64) {
	p := l.Period.Microseconds()
	a, b := p, l.Rate
	for b != 0 {
		a, b = b, a%b
	}
	return p / a, l.Rate / a
}

// Pace holds the numbers of a GCRA limit.
type Pace struct {
	Num, Den int64  // the emission interval, see emission
	Full     Micros // the time in which an empty limit fills up
	one      Micros // the time that a unit takes
	most     int64
}

// Span returns the time that n units take, from 0 to store.MaxUnits. The result is capped
// beyond MostDebt after an empty limit.
func (p *Pace) Span(n int64) Micros {
	if n == 1 {
		return p.one
	}
	return p.span(n)
}

func (p *Pace) span(n int64) Micros {
	const most = int64(store.MaxPeriod/time.Microsecond) + MostDebt
	hi, lo := bits.Mul64(uint64(n), uint64(p.Num))
	if hi >= uint64(p.Den) {
		return Micros{Whole: most}
	}
	q, r := bits.Div64(hi, lo, uint64(p.Den))
	if q >= uint64(most) {
		return Micros{Whole: most}
	}
	return Micros{int64(q), int64(r)}
}

// View returns the remaining units at now, and the microseconds until the limit is as if
// never used, from the theoretical arrival time. Remaining is
// ⌊(now + capacity − base)/T⌋ with base = max(tat, now).
func (p *Pace) View(tat Micros, now int64) (remaining, reset int64) {
	ahead := tat
	if ahead.Whole -= now; ahead.Whole < 0 {
		return p.most, 0
	}
	if !ahead.Less(p.Full) {
		return 0, ahead.up()
	}
	if p.Den == 1 { // For speed: measured, this saves a quarter of a small decision.
		return (p.Full.Whole - ahead.Whole) / p.Num, ahead.Whole
	}
	free := p.Full.Minus(ahead, p.Den)
	hi, lo := bits.Mul64(uint64(free.Whole), uint64(p.Den))
	lo, carry := bits.Add64(lo, uint64(free.Rem), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(p.Num))
	return int64(q), ahead.up()
}
