// Package long sets the amount of work of tests. By default go test ./... takes little
// more than a minute: it runs random stories for a few seeds, and leaves out whole
// programs, fault matrices and measurements. WEIR_LONG=1 go test ./... and .ci/run run all
// of them.
package long

import (
	"math/rand/v2"
	"os"
	"testing"
)

// Enabled reports whether the environment variable WEIR_LONG is set.
var Enabled = os.Getenv("WEIR_LONG") != ""

// Of returns the number of seeds, stories or rounds to run, out of n: all with WEIR_LONG,
// a sixth of them under the race detector, and a twelfth by default. It is at least 1.
func Of(n int) int {
	every := 1
	if Race {
		every = 6
	}
	return max(n/Or(every, 12), 1)
}

// Only skips a test unless WEIR_LONG is set.
func Only(tb testing.TB) {
	tb.Helper()
	if !Enabled {
		tb.Skip("WEIR_LONG=1 go test tries this")
	}
}

// Some returns Of(n) different numbers from 0 to n-1, in random order.
func Some(rng *rand.Rand, n int) []int { return rng.Perm(n)[:Of(n)] }

// Or returns full with WEIR_LONG, otherwise short.
func Or[T any](full, short T) T {
	if Enabled {
		return full
	}
	return short
}
