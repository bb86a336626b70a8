package redisstore

import (
	"flag"
	"runtime/debug"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

// TestMain runs more tests at once than there are processors, as most of them wait.
// The command line is parsed later, and wins. Miniredis makes much garbage for each
// script, so the collector runs less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	_ = flag.Set("test.parallel", "8")
	leaktest.Main(m)
}
