//go:build !race

package combine_test

import (
	"context"
	"testing"

	"github.com/goweir/weir/store/redisstore/internal/combine"
)

func TestLoneCallerDoesNotAllocate(t *testing.T) {
	q := combine.New(config{Send: func(context.Context, []group) error { return nil }})
	if n := testing.AllocsPerRun(1000, func() { _, _, _ = q.Do(t.Context(), "key", call{number: 1}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
