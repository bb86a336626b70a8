package localstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestManyAtOneInstant: concurrent calls get exactly the free units, on one key and on each
// of many.
func TestManyAtOneInstant(t *testing.T) {
	t.Parallel()
	for _, keys := range []int{1, 5} {
		for a := store.GCRA; a <= store.AlignedWindow; a++ {
			t.Run(fmt.Sprint(a, " on ", keys), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := open(t)
					admitted := make([]atomic.Int64, keys)
					var wg sync.WaitGroup
					for i := range 500 * keys {
						wg.Go(func() {
							if take(t, s, charge(fmt.Sprint(i%keys), 1, store.Per(100, time.Hour).By(a))).Allowed {
								admitted[i%keys].Add(1)
							}
						})
					}
					wg.Wait()
					for i := range admitted {
						if n := admitted[i].Load(); n != 100 {
							t.Errorf("key %d: %d admitted of 500 on 100", i, n)
						}
					}
				})
			})
		}
	}
}

// TestEverythingAtOnce is for the race detector: takes, reservations, cancels, resets, looks,
// other limits, several keys, and more keys than there is room for.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := openFor(t, 100)
	ctx := context.Background()
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 1))
			var granted []any
			for range 5000 {
				l := store.Per(1+rng.Int64N(20), time.Duration(1+rng.IntN(50))*100*time.Microsecond).By(store.Algorithm(rng.IntN(5)))
				key := func() string { return fmt.Sprint(rng.IntN(120)) }
				req := charge(key(), rng.Int64N(3), l)
				req.MaxWait, req.Cancelable = time.Duration(rng.IntN(3))*time.Millisecond, rng.IntN(2) == 0
				switch rng.IntN(10) {
				case 0:
					req.Charges = append(req.Charges, charge(key(), 1, l).Charges...)
				case 1:
					req.Charges = append(req.Charges, charge(req.Charges[0].Key, 1, store.Per(100, time.Minute)).Charges...)
				case 2:
					if err := s.Reset(ctx, "", key()); err != nil {
						t.Error(err)
					}
				case 3:
					s.Keys()
				case 4, 5:
					if n := len(granted); n > 0 {
						if err := s.Cancel(ctx, granted[n-1]); err != nil {
							t.Error(err)
						}
						granted = granted[:n-1]
					}
				}
				d, err := s.Take(ctx, req)
				if err != nil && err != localstore.ErrFull {
					t.Error(err)
				}
				if d.Receipt != nil {
					granted = append(granted, d.Receipt)
				}
				if d.Remaining < 0 || d.Remaining > l.Max() && len(req.Charges) == 1 {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	wg.Wait()
	if n := s.Keys(); n > 100 {
		t.Errorf("%d keys in a store for 100", n)
	}
}

// TestOverlappingKeysDoNotDeadlock: requests that name the same keys in different orders do
// not wait for each other. A request that names a key twice does not wait for itself.
func TestOverlappingKeysDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := open(t)
	l := store.Per(1_000_000, time.Second)
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 2))
			for range 3000 {
				var req store.Request
				for _, i := range rng.Perm(8)[:2+rng.IntN(6)] {
					req.Charges = append(req.Charges, charge(fmt.Sprint(i), 1, l).Charges...)
				}
				req.Charges = append(req.Charges, req.Charges[0])
				req.Cancelable = rng.IntN(4) == 0
				if d := take(t, s, req); d.Receipt != nil {
					if err := s.Cancel(context.Background(), d.Receipt); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still running after a minute")
	}
}

// TestKeysTogetherAreAllOrNone: under concurrent calls, both keys lose the same units.
func TestKeysTogetherAreAllOrNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		org, user := store.Per(1000, time.Hour), store.Per(30, time.Hour).By(store.FixedWindow)
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				for j := range 40 {
					req := charge(fmt.Sprint("user ", i), 1, user)
					req.Charges = append(req.Charges, charge("org", 1, org).Charges...)
					if j%2 == 0 {
						req.Charges[0], req.Charges[1] = req.Charges[1], req.Charges[0]
					}
					if take(t, s, req).Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		var users int64
		for i := range 50 {
			users += 30 - take(t, s, charge(fmt.Sprint("user ", i), 0, user)).Remaining
		}
		if left := take(t, s, charge("org", 0, org)).Remaining; admitted.Load() != 1000 || left != 0 || users != 1000 {
			t.Errorf("%d admitted, %d left of the organisation's 1000, users took %d", admitted.Load(), left, users)
		}
	})
}
