// Package product compares products exactly, and so shares: a/b with c/d as a·d
// with c·b.
package product

import (
	"cmp"
	"math/bits"
)

// Compare returns -1 if a·b < c·d, 0 if they are equal, 1 if a·b > c·d. All
// arguments are 0 or more. The products have 128 bits, so nothing overflows.
func Compare(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}
