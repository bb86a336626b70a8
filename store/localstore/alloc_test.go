package localstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestOneLimitAllocatesNothing: a call for a known key with one limit allocates nothing.
func TestOneLimitAllocatesNothing(t *testing.T) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		// A log allocates until it has room for all live entries.
		many := store.Per(store.MaxUnits, time.Millisecond).By(a)
		for name, test := range map[string]struct {
			limit   store.Limit
			cost    int64
			maxWait time.Duration
			allowed bool
		}{
			"allowed": {many, 1, 0, true},
			"refused": {store.Per(1, 24*time.Hour).By(a), 1, 0, false},
			"too far": {store.Per(1, 24*time.Hour).By(a), 1, time.Minute, false},
			"never":   {many, store.MaxUnits + 1, 0, false},
			"peek":    {many, 0, 0, true},
		} {
			t.Run(a.String()+"/"+name, func(t *testing.T) {
				s := open(t)
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				req := charge("key", test.cost, test.limit)
				req.MaxWait = test.maxWait
				take(t, s, charge("key", 1, test.limit))
				for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
					take(t, s, req)
				}
				allocs := testing.AllocsPerRun(1000, func() {
					if d, err := s.Take(ctx, req); err != nil || d.Allowed != test.allowed {
						t.Errorf("%+v, %v", d, err)
					}
				})
				if allocs != 0 {
					t.Errorf("%v allocations", allocs)
				}
			})
		}
	}
}

// TestSeveralLimitsAllocateTheirStates: the states in the decision are the only allocation.
func TestSeveralLimitsAllocateTheirStates(t *testing.T) {
	for _, n := range []int{2, 3, maxSmall} {
		for name, test := range map[string]struct {
			rate    int64
			cost    int64
			allowed bool
		}{
			"allowed": {store.MaxUnits, 1, true}, "refused": {1, 1, false}, "never": {store.MaxUnits, store.MaxUnits + 1, false}, "peek": {1, 0, true},
		} {
			t.Run(fmt.Sprint(n, "/", name), func(t *testing.T) {
				s := open(t)
				limits := make([]store.Limit, n)
				for i := range limits {
					limits[i] = store.Per(test.rate, time.Duration(24+i)*time.Hour).By([]store.Algorithm{store.GCRA, store.FixedWindow, store.SlidingCounter}[i%3])
				}
				req := charge("key", test.cost, limits...)
				take(t, s, charge("key", 1, limits...))
				allocs := testing.AllocsPerRun(1000, func() {
					if d := take(t, s, req); d.Allowed != test.allowed {
						t.Errorf("%+v", d)
					}
				})
				if allocs != 1 {
					t.Errorf("%v allocations", allocs)
				}
			})
		}
	}
}

// maxSmall is the maximum number of limits of a key that takes little memory.
const maxSmall = 8

// TestReservingAllocatesTheReceipt: the receipt is the only allocation.
func TestReservingAllocatesTheReceipt(t *testing.T) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		s := open(t)
		req := charge("key", 1, store.Per(1, time.Hour).By(a))
		req.MaxWait, req.Cancelable = 365*24*time.Hour, true
		for range 100 {
			take(t, s, req)
		}
		allocs := testing.AllocsPerRun(1000, func() {
			if err := s.Cancel(context.Background(), take(t, s, req).Receipt); err != nil {
				t.Error(err)
			}
		})
		if allocs != 1 {
			t.Errorf("%v: %v allocations for a slot that is given back, want 1", a, allocs)
		}
	}
}
