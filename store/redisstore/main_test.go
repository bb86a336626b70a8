package redisstore

import (
	"flag"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

// TestMain runs more tests at once than there are processors, as most of them wait.
// The command line is parsed later, and wins.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	leaktest.Main(m)
}
