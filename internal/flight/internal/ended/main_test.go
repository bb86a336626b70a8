package ended

import (
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
