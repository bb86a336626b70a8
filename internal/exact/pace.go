package exact

import (
	"math/bits"
	"time"

	"github.com/goweir/weir/store"
)

// Micros is a time or a duration in whole microseconds and a fraction of one:
// Rem over a denominator that the limit gives (see Emission).
type Micros struct{ Whole, Rem int64 }

// Up returns m rounded up to whole microseconds.
func (m Micros) Up() int64 {
	if m.Rem > 0 {
		return m.Whole + 1
	}
	return m.Whole
}

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

// Emission returns the emission interval of a valid limit in microseconds as a
// reduced fraction num/den.
func Emission(l *store.Limit) (num, den int64) {
	p := l.Period.Microseconds()
	a, b := p, l.Rate
	for b != 0 {
		a, b = b, a%b
	}
	return p / a, l.Rate / a
}

// Span returns the time that n units take at the limit's rate. n is at most
// l.Max().
func Span(n, num, den int64) Micros {
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	q, r := bits.Div64(hi, lo, uint64(den))
	return Micros{int64(q), int64(r)}
}

// Debt returns the time that n units of a settled cost take, for n from 0 to
// store.MaxUnits. The result is capped beyond MostDebt after an empty limit.
func Debt(n, num, den int64) Micros {
	const most = int64(store.MaxPeriod/time.Microsecond) + MostDebt
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	if hi >= uint64(den) {
		return Micros{Whole: most}
	}
	q, r := bits.Div64(hi, lo, uint64(den))
	if q >= uint64(most) {
		return Micros{Whole: most}
	}
	return Micros{int64(q), int64(r)}
}

// Pace holds the numbers of a GCRA limit, for stores that compute them once.
type Pace struct {
	Num, Den int64  // the emission interval, see Emission
	Full     Micros // the time in which an empty limit fills up
	one      Micros // the time that a unit takes
	most     int64
}

// PaceOf returns the pace of a valid limit.
func PaceOf(l *store.Limit) Pace {
	num, den := Emission(l)
	return Pace{num, den, Span(l.Max(), num, den), Span(1, num, den), l.Max()}
}

// Span returns the time that n units take, at most those of Full.
func (p *Pace) Span(n int64) Micros {
	if n == 1 {
		return p.one
	}
	return Span(n, p.Num, p.Den)
}

// Debt is the function Debt at this pace.
func (p *Pace) Debt(n int64) Micros {
	if n == 1 {
		return p.one
	}
	return Debt(n, p.Num, p.Den)
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
		return 0, ahead.Up()
	}
	if p.Den == 1 { // For speed: measured, this saves a quarter of a small decision.
		return (p.Full.Whole - ahead.Whole) / p.Num, ahead.Whole
	}
	// In units of 1/Den µs: most·Num − ahead, over Num.
	hi, lo := bits.Mul64(uint64(p.most), uint64(p.Num))
	usedHi, usedLo := bits.Mul64(uint64(ahead.Whole), uint64(p.Den))
	usedLo, carry := bits.Add64(usedLo, uint64(ahead.Rem), 0)
	usedHi += carry
	lo, borrow := bits.Sub64(lo, usedLo, 0)
	hi, _ = bits.Sub64(hi, usedHi, borrow)
	q, _ := bits.Div64(hi, lo, uint64(p.Num))
	return int64(q), ahead.Up()
}
