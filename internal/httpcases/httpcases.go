// Package httpcases tests every mount of the middleware alike: one table that net/http,
// gin and echo all run, and gRPC as far as it applies.
package httpcases

import (
	"testing"
	"testing/synctest"

	"github.com/goweir/weir"
)

// table is every case that is a configuration and its answers.
var table = [][]testCase{
	identityCases, headerCases, xHeaderCases, otherHeaderCases, refusalCases, failureCases, requestCases, planCases,
	listCases, settleCases, delayCases, penaltyCases, levelCases, unknownCases,
}

// Run runs every case.
func Run(t *testing.T, mount Mount) {
	RunOn(t, mount, func(testing.TB) weir.Store { return newStore() })
	t.Run("a panic is a failure", func(t *testing.T) { testPanic(t, mount) })
	t.Run("panics after a few bytes are failures", func(t *testing.T) { testPanickedFailures(t, mount) })
	t.Run("a panic settles the part that the client got", func(t *testing.T) { testPanickedSizes(t, mount) })
	t.Run("the sent part of an aborted answer counts", func(t *testing.T) { testAborted(t, mount) })
	t.Run("a panic keeps no upload", func(t *testing.T) { testPanickedUpload(t, mount) })
	t.Run("shadows", func(t *testing.T) { testShadows(t, mount) })
	t.Run("never identified", func(t *testing.T) { testNeverIdentified(t, mount) })
	t.Run("slow", func(t *testing.T) { testSlow(t, mount) })
	t.Run("forged", func(t *testing.T) { testForged(t, mount) })
	t.Run("preflights", func(t *testing.T) { testPreflights(t, mount) })
	t.Run("levels", func(t *testing.T) { testLevels(t, mount) })
	t.Run("mounted twice", func(t *testing.T) { testTwice(t, mount) })
	t.Run("server", func(t *testing.T) { testServer(t, mount) })
}

// RunOn runs the cases on stores that open returns. Each store must be empty, and use the
// clock of the testing/synctest bubble in which open is called. Cases that do not depend
// on the store, or have a store of their own, are left to Run.
func RunOn(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	for _, cases := range table {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { c.run(t, mount, open) })
			})
		}
	}
	t.Run("unknown", func(t *testing.T) { testUnknown(t, mount, open) })
	t.Run("charged while served", func(t *testing.T) { testCharging(t, mount, open) })
	t.Run("max waiting", func(t *testing.T) { testMaxWaiting(t, mount, open) })
}
