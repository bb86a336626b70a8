package fallback_test

import (
	"testing"

	"github.com/goweir/weir/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, 4) }
