package middleware_test

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	httpcases.Promises(t, func(testing.TB) weir.Store { return httpcases.NewCounting() })
}
