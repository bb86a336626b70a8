// Package exact is the arithmetic of limits, in one place for every store:
// whole microseconds, exact fractions, products of 128 bits.
package exact

import (
	"math/bits"
	"time"
)

// MulDiv returns a·b/c rounded down, and whether there was a remainder. The
// quotient must fit; all arguments are 0 or more, c is positive.
func MulDiv(a, b, c int64) (q int64, rest bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	quo, rem := bits.Div64(hi, lo, uint64(c))
	return int64(quo), rem != 0
}

// Whole returns a duration in whole microseconds, rounded up.
func Whole(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// align returns the start of the window of length p, counted from the Unix epoch,
// that holds t.
func align(t, p int64) int64 { return t - t%p }
