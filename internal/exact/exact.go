// Package exact is the arithmetic of limits, in one place for every store:
// whole microseconds, exact fractions, products of 128 bits.
package exact

import (
	"math/bits"

	"github.com/goweir/weir"
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

// Emission returns the emission interval of a valid limit in microseconds as a
// reduced fraction num/den.
func Emission(l *weir.Limit) (num, den int64) {
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

// MulDiv returns a·b/c rounded down, and whether there was a remainder. The
// quotient must fit; all arguments are 0 or more, c is positive.
func MulDiv(a, b, c int64) (q int64, rest bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	quo, rem := bits.Div64(hi, lo, uint64(c))
	return int64(quo), rem != 0
}

// ProductLess reports whether a·b < c·d, for arguments of 0 or more.
func ProductLess(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 < h2 || h1 == h2 && l1 < l2
}
