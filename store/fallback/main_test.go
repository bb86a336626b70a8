package fallback_test

import (
	"flag"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/long"
)

// TestMain runs more tests at once than there are processors, as most of them wait. A
// flag of the command line overrides this.
func TestMain(m *testing.M) {
	parallel := "8"
	if long.Race {
		parallel = "4"
	}
	_ = flag.Set("test.parallel", parallel)
	leaktest.Main(m)
}
