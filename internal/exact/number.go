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

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// align returns the start of the window of length p, counted from the Unix epoch,
// that holds t.
func align(t, p int64) int64 { return t - t%p }

// corrected returns the units of a window after a correction.
func corrected(units, more int64) int64 { return min(max(units+more, 0), max(units, MostUnits)) }

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
