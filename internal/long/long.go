// Package long sets the amount of work of tests. By default go test ./... takes little
// more than a minute: it runs random stories for a few seeds, and leaves out whole
// programs, fault matrices and measurements. This runs all of them:
//
//	go test -tags long ./...
//
// .ci/run leaves no test out.
package long

import (
	"math/rand/v2"
	"testing"
)

// Of returns the number of seeds, stories or rounds to run, out of n: all with the build
// tag long, a sixth under the race detector, which is slow, and a twelfth by default. It
// is at least 1.
func Of(n int) int { return max(n/thinning, 1) }

// Only skips a test unless the build tag long is set.
func Only(tb testing.TB) {
	tb.Helper()
	if !Enabled {
		tb.Skip("go test -tags long tries this")
	}
}

// Some returns Of(n) different numbers from 0 to n-1, in random order.
func Some(rng *rand.Rand, n int) []int { return rng.Perm(n)[:Of(n)] }

// Or returns full with the build tag long, otherwise short.
func Or[T any](full, short T) T {
	if Enabled {
		return full
	}
	return short
}
