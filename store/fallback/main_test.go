package fallback_test

import (
	"flag"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

// TestMain runs more tests at once than there are processors, as most of them wait. A
// flag of the command line overrides this.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	leaktest.Main(m)
}
