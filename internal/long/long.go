// Package long says how much tests try. By default go test ./... takes little
// more than a minute: random stories are told for a few seeds each, and runs of
// whole programs, fault matrices and measurements are left out. With
//
//	go test -tags long ./...
//
// all of it is tried. No test is left out of .ci/run.
package long

import (
	"math/rand/v2"
	"testing"
)

// Of returns how many of n seeds, stories or rounds to try: all n with the build
// tag long, a sixth under the race detector, which slows everything down, and a
// twelfth by default. It is at least one.
func Of(n int) int { return max(n/thinning, 1) }

// Only skips a test without the build tag long.
func Only(tb testing.TB) {
	tb.Helper()
	if !Enabled {
		tb.Skip("go test -tags long tries this")
	}
}

// Some returns Of(n) unlike numbers from 0 to n-1, in any order.
func Some(rng *rand.Rand, n int) []int { return rng.Perm(n)[:Of(n)] }

// Or returns full with the build tag long, and otherwise short.
func Or[T any](full, short T) T {
	if Enabled {
		return full
	}
	return short
}
