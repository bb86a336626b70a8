package redistest

import (
	"flag"
	"strconv"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

// Main is [leaktest.Main] for suites that mostly wait: for servers to start, for
// a cluster to come up, for a pause to end. atOnce parallel tests run at a time,
// however few processors the machine has, unless go test -parallel says otherwise.
func Main(m *testing.M, atOnce int) {
	// The command line is parsed later, and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}
