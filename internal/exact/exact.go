// Package exact is the arithmetic of limits, in one place for every store:
// whole microseconds, exact fractions, products of 128 bits.
package exact

import "math/bits"

// MulDiv returns a·b/c rounded down, and whether there was a remainder. The
// quotient must fit; all arguments are 0 or more, c is positive.
func MulDiv(a, b, c int64) (q int64, rest bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	quo, rem := bits.Div64(hi, lo, uint64(c))
	return int64(quo), rem != 0
}
