package weirtest_test

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

func TestTightest(t *testing.T) {
	t.Parallel()
	at := func(remaining, rate int64) weirtest.LimitState {
		return weirtest.LimitState{Limit: weir.PerSecond(rate), Remaining: remaining}
	}
	a := weirtest.Answer{Limits: []weirtest.LimitState{at(4999, 5000), at(16, 160000), at(16, 160000), at(1, 2)}}
	if got, ok := a.Tightest(); !ok || got.Limit.Rate != 160000 {
		t.Errorf("tightest %+v, want 16 of 160000", got)
	}
	if _, ok := (weirtest.Answer{}).Tightest(); ok {
		t.Error("a limit was found where there is none")
	}
}
