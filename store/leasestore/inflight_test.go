package leasestore_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
)

// away is a distant store behind: returned units take as long to arrive as answers take to
// come back.
type away struct {
	*behind
	far time.Duration
}

func (a away) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := a.behind.Take(ctx, req)
	time.Sleep(a.far)
	return d, err
}

func (a away) Settle(ctx context.Context, receipt any, costs ...int64) error {
	time.Sleep(a.far)
	return a.behind.Settle(ctx, receipt, costs...)
}

// far runs a test in a bubble, with a store behind that is 10 ms away.
func far(t *testing.T, test func(t *testing.T, b *behind, s *leasestore.Store)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t)
		s := open(t, leasestore.Config{Store: away{b, 10 * time.Millisecond}, For: 10 * time.Second})
		defer done(t, s)
		test(t, b, s)
	})
}

func left(t *testing.T, b *behind, l store.Limit) int64 {
	t.Helper()
	return take(t, b, charge("k", 0, l)).Remaining
}

// TestCallsThatTakeNothingAheadDoNotWaitForEachOther covers limits so small, or so near
// their end, that units are taken one by one.
func TestCallsThatTakeNothingAheadDoNotWaitForEachOther(t *testing.T) {
	for name, l := range map[string]store.Limit{
		"a small limit":              store.Per(15, time.Hour),
		"a large one, on a cold key": store.Per(1000, time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			far(t, func(t *testing.T, _ *behind, s *leasestore.Store) {
				for range 3 {
					began := time.Now()
					var all sync.WaitGroup
					for range 5 {
						all.Go(func() {
							if !take(t, s, charge("k", 1, l)).Allowed {
								t.Error("refused")
							}
						})
					}
					all.Wait()
					if took := time.Since(began); took > 10*time.Millisecond {
						t.Errorf("5 calls at once took %v", took)
					}
					time.Sleep(15 * time.Second) // the idle key begins anew
				}
			})
		})
	}
}

// TestWhatSlowsAKeyDownHoldsForUnitsThatAreUnderWay: units under way at a brake are given
// back when they come.
func TestWhatSlowsAKeyDownHoldsForUnitsThatAreUnderWay(t *testing.T) {
	l := store.Per(10_000, time.Hour).By(store.FixedWindow)
	for name, c := range map[string]struct {
		do   func(t *testing.T, b *behind, s *leasestore.Store) error
		left int64
	}{
		"a pause set here": {func(t *testing.T, _ *behind, s *leasestore.Store) error {
			return s.Brake(t.Context(), charge("k", 0, l).Charges, store.Brake{Pause: time.Minute})
		}, 9900},
		"a pause set elsewhere": {func(t *testing.T, b *behind, _ *leasestore.Store) error {
			return b.Brake(t.Context(), charge("k", 0, l).Charges, store.Brake{Pause: time.Minute})
		}, 9900},
		"a reset": {func(t *testing.T, _ *behind, s *leasestore.Store) error {
			return s.Reset(t.Context(), "api", "k")
		}, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			far(t, func(t *testing.T, b *behind, s *leasestore.Store) {
				for n := b.takes.Load(); ; n = b.takes.Load() {
					if spend(t, s, 1, l); b.takes.Load() > n && left(t, b, l) < 9900 {
						break // units are taken ahead
					}
				}
				var all sync.WaitGroup
				for n := b.takes.Load(); b.takes.Load() == n; synctest.Wait() {
					all.Go(func() { take(t, s, charge("k", 1, l)) })
				}
				if err := c.do(t, b, s); err != nil {
					t.Fatal(err)
				}
				all.Wait()
				n := b.takes.Load()
				d := take(t, s, charge("k", 1, l))
				if b.takes.Load() == n {
					t.Errorf("a unit taken before was used: %+v", d)
				}
				if paused := c.left < 10_000; d.Allowed == paused {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// No unit is taken ahead of a key whose units lie apart.
func TestUnitsOfAKeyThatIsSlowedDownComeOneByOne(t *testing.T) {
	l := store.Per(72_000, time.Hour).By(store.FixedWindow)
	for name, brake := range map[string]store.Brake{
		"an advertised pace": {Tell: true, Gap: 100 * time.Millisecond, GapFor: time.Minute},
		"by a cut":           {Cut: store.Cut{Unit: 50 * time.Millisecond, Recovery: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			far(t, func(t *testing.T, _ *behind, s *leasestore.Store) {
				spend(t, s, 1000, l)
				if err := s.Brake(t.Context(), charge("k", 0, l).Charges, brake); err != nil {
					t.Fatal(err)
				}
				for range 20 {
					n := 0
					for began := time.Now(); time.Since(began) < 90*time.Millisecond; time.Sleep(time.Millisecond) {
						n += spend(t, s, 1, l)
					}
					if n > 1 {
						t.Fatalf("%d units in less than the gap", n)
					}
				}
			})
		})
	}
}

// TestCloseWhileUnitsAreUnderWay: Close returns after all units under way are given back.
// Calls that waited for them take nothing ahead.
func TestCloseWhileUnitsAreUnderWay(t *testing.T) {
	far(t, func(t *testing.T, b *behind, s *leasestore.Store) {
		l := store.Per(10_000, time.Hour).By(store.FixedWindow)
		spend(t, s, 100, l)
		var all sync.WaitGroup
		calls := int64(100)
		for n := b.takes.Load(); b.takes.Load() == n; synctest.Wait() {
			all.Go(func() { take(t, s, charge("k", 1, l)) })
			calls++
		}
		for range 50 { // these wait
			all.Go(func() { take(t, s, charge("k", 1, l)) })
		}
		synctest.Wait()
		done(t, s)
		synctest.Wait()
		if got := left(t, b, l); got < 10_000-calls-50 || got > 10_000-calls {
			t.Errorf("after Close %d are left, and %d calls were made", got, calls)
		}
		all.Wait()
		if got := left(t, b, l); got != 10_000-calls-50 {
			t.Errorf("%d are left after %d calls", got, calls+50)
		}
	})
}

// A call is not refused while this process gives back the units that it needs.
func TestACallFindsWhatIsGivenBackForIt(t *testing.T) {
	far(t, func(t *testing.T, b *behind, s *leasestore.Store) {
		l := store.Per(2000, time.Hour).By(store.FixedWindow)
		for n := int64(0); n < 100; n++ {
			take(t, s, charge("k", 1, l))
			if got := left(t, b, l); got < 2000-n-1 {
				if d := take(t, s, charge("k", 2000-n-1, l)); !d.Allowed {
					t.Errorf("refused with %d left: %+v", 2000-n-1, d)
				}
				return
			}
		}
		t.Error("nothing was taken ahead")
	})
}
