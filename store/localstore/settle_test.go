package localstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func settle(t testing.TB, s *localstore.Store, d store.Decision, costs ...int64) {
	t.Helper()
	if err := s.Settle(context.Background(), d.Receipt, costs...); err != nil {
		t.Fatal(err)
	}
}

// TestGivesBackUnderLoad: calls that overlap, each with its own slot, get almost
// all back that they booked too much, in whatever order they end.
func TestGivesBackUnderLoad(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"first", "last", "random"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				l := store.Per(60_000, time.Minute)
				rng := rand.New(rand.NewPCG(1, 2))
				var under []store.Decision
				done := 0
				for range 6000 { // a minute
					time.Sleep(10 * time.Millisecond)
					if d := take(t, s, cancelable("key", 1000, 0, l)); d.Allowed {
						under = append(under, d)
						done++
					}
					if len(under) < 30 {
						continue
					}
					i := map[string]int{"first": 0, "last": len(under) - 1, "random": rng.IntN(len(under))}[order]
					settle(t, s, under[i], 300)
					under = append(under[:i], under[i+1:]...)
				}
				// Of the burst and a minute's refill, 29 calls hold 1000 at the end, and
				// the others had 300: 332 if all is given back, 120 if nothing is.
				if done < 300 || done > 332 {
					t.Errorf("%d calls in a minute, want nearly 332", done)
				}
			})
		})
	}
}

// TestSettleWhatWasForgotten: a receipt from before changes nothing of what has
// come in its place, in the same microsecond too.
func TestSettleWhatWasForgotten(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		l := store.Per(10, time.Minute).By(a)
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				old := take(t, s, cancelable("key", 5, 0, l))
				if err := s.Reset(context.Background(), "", "key"); err != nil {
					t.Fatal(err)
				}
				take(t, s, cancelable("key", 5, 0, l))
				for _, actual := range []int64{0, 4, 9} {
					settle(t, s, old, actual)
					if d := take(t, s, charge("key", 0, l)); d.Remaining != 5 {
						t.Errorf("settled at %d: %d remain", actual, d.Remaining)
					}
				}
			})
		})
	}
}

// TestSettledKeysAreForgotten: what was settled at nothing, or has been paid,
// leaves nothing behind.
func TestSettledKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				l := store.Per(10, time.Second).By(a)
				for i := range 1000 {
					settle(t, s, take(t, s, cancelable(fmt.Sprint(i), 5, 0, l)), 0)
				}
				if n := s.Keys(); n != 0 {
					t.Errorf("%d keys of which all was given back are kept", n)
				}
				settle(t, s, take(t, s, cancelable("debt", 5, 0, l)), 100)
				time.Sleep(20 * time.Second)
				for i := range 2000 {
					take(t, s, charge(fmt.Sprint(i), 1, l))
				}
				if d := take(t, s, charge("debt", 0, l)); d.Remaining != 10 || d.ResetAfter != 0 {
					t.Errorf("a debt that is paid: %+v", d)
				}
			})
		})
	}
}
