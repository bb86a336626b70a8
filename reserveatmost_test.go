package weir_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

func TestReserveAtMost(t *testing.T) {
	t.Parallel()
	window := weir.Per(100, time.Minute).By(weir.SlidingWindow)
	for name, test := range map[string]struct {
		limits         []weir.Limit
		used, min, max int64
		want           int64 // 0: refused
	}{
		"all":                      {buckets(weir.PerHour(100)), 0, 1, 50, 50},
		"the rest of a bucket":     {buckets(weir.PerHour(100)), 70, 1, 50, 30},
		"the rest of a window":     {[]weir.Limit{window}, 70, 1, 50, 30},
		"of the tightest limit":    {[]weir.Limit{window, weir.Per(80, time.Hour).By(weir.SlidingWindow)}, 70, 1, 50, 10},
		"exactly the minimum":      {[]weir.Limit{window}, 70, 30, 50, 30},
		"less than the minimum":    {[]weir.Limit{window}, 70, 31, 50, 0},
		"nothing left":             {[]weir.Limit{window}, 100, 1, 50, 0},
		"a maximum over the limit": {[]weir.Limit{window}, 0, 1, 500, 100},
		"a minimum over the limit": {[]weir.Limit{window}, 0, 101, 500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: test.limits})
				if test.used > 0 {
					if d, err := l.AllowN(t.Context(), "key", test.used); err != nil || !d.Allowed {
						t.Fatal(d, err)
					}
				}
				r, d, err := l.ReserveAtMost(t.Context(), "key", test.min, test.max)
				if err != nil || d.Allowed != (test.want > 0) || d.Allowed && r.Cost() != test.want || !d.Allowed && (r != nil || d.RetryAfter <= 0) {
					t.Errorf("%+v, %v, %v; want %d", r, d, err, test.want)
				}
			})
		})
	}
	l := onLocal(t, weir.Config{Limits: buckets(weir.PerHour(100))})
	for _, bounds := range [][2]int64{{0, 5}, {-1, 5}, {6, 5}} {
		if _, _, err := l.ReserveAtMost(t.Context(), "key", bounds[0], bounds[1]); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%v: %v", bounds, err)
		}
	}
}

// TestReserveAtMostTogether: concurrent calls share all units, and none is taken twice.
func TestReserveAtMostTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.Per(10_000, time.Minute).By(weir.SlidingWindow)}})
		var granted atomic.Int64
		var wg sync.WaitGroup
		for i := range int64(400) {
			wg.Go(func() {
				if r, d, err := l.ReserveAtMost(t.Context(), "key", 1, 20+i); err != nil {
					t.Error(err)
				} else if d.Allowed {
					granted.Add(r.Cost())
				}
			})
		}
		wg.Wait()
		if granted.Load() != 10_000 {
			t.Errorf("%d units granted, want 10000", granted.Load())
		}
	})
}
