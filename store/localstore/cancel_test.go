package localstore_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func cancelable(key string, cost int64, maxWait time.Duration, limits ...store.Limit) store.Request {
	req := charge(key, cost, limits...)
	req.MaxWait, req.Cancelable = maxWait, true
	return req
}

func cancel(t testing.TB, s *localstore.Store, d store.Decision) {
	t.Helper()
	if err := s.Cancel(context.Background(), d.Receipt); err != nil {
		t.Fatal(err)
	}
}

// TestReceiptOfAForgottenKey: a receipt may outlive its key. It changes nothing of the key's
// successor.
func TestReceiptOfAForgottenKey(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		l := store.Per(3, time.Minute).By(a)
		for name, forget := range map[string]func(*testing.T, *localstore.Store){
			"reset": func(t *testing.T, s *localstore.Store) {
				if err := s.Reset(context.Background(), "", "key"); err != nil {
					t.Fatal(err)
				}
			},
			"lapsed and swept": func(t *testing.T, s *localstore.Store) {
				time.Sleep(time.Hour)
				for i := range 10_000 {
					take(t, s, charge(fmt.Sprint(i), 1, store.Per(1, time.Second)))
				}
			},
			"lapsed": func(*testing.T, *localstore.Store) { time.Sleep(time.Hour) },
		} {
			t.Run(a.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := open(t)
					var old []store.Decision
					for range 5 {
						old = append(old, take(t, s, cancelable("key", 1, time.Hour, l)))
					}
					forget(t, s)
					for range 3 {
						take(t, s, cancelable("key", 1, 0, l))
					}
					for _, d := range old {
						cancel(t, s, d)
					}
					if d := take(t, s, charge("key", 1, l)); d.Allowed {
						t.Errorf("an old receipt freed newer units: %+v", d)
					}
				})
			})
		}
	}
}

func TestReceiptOfAnotherStore(t *testing.T) {
	t.Parallel()
	one, two := open(t), open(t)
	l := store.Per(1, time.Hour)
	take(t, one, charge("key", 1, l))
	d := take(t, two, cancelable("key", 1, 0, l))
	for name, receipt := range map[string]any{"another store's": d.Receipt, "none": nil, "a number": 7} {
		if err := one.Cancel(context.Background(), receipt); err == nil {
			t.Errorf("%s: taken as a receipt", name)
		}
	}
	if take(t, one, charge("key", 1, l)).Allowed {
		t.Error("another store's receipt gave a unit back")
	}
	cancel(t, two, d)
}

// TestCancelGivesTheStateBack: bookings are cancelled in reverse order, while others come and
// go.
func TestCancelGivesTheStateBack(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				l := store.Per(5, time.Second).By(a)
				var granted, states []store.Decision
				for i := range 30 {
					states = append(states, take(t, s, charge("key", 0, l)))
					granted = append(granted, take(t, s, cancelable("key", 1+int64(i%3), time.Hour, l)))
				}
				for i := 29; i >= 0; i-- {
					other := take(t, s, cancelable("key", 2, time.Hour, l))
					cancel(t, s, other)
					cancel(t, s, granted[i])
					if d := take(t, s, charge("key", 0, l)); fmt.Sprint(d) != fmt.Sprint(states[i]) {
						t.Fatalf("the last %d taken back: %+v, want %+v", 30-i, d, states[i])
					}
				}
				if s.Keys() != 0 {
					t.Error("a key without used units is still kept")
				}
			})
		})
	}
}

// TestLogTellsBookingsApart: after these cancels a sliding window holds as many units, at as
// many instants, as at a slot's booking. But these are other units: putting the old state
// back would forget one.
func TestLogTellsBookingsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(2, time.Second).By(store.SlidingWindow)
		reserve := func() store.Decision { return take(t, s, cancelable("key", 1, time.Hour, l)) }
		first, _, ahead := reserve(), reserve(), reserve()
		cancel(t, s, first)
		if d := reserve(); d.Delay != time.Second {
			t.Fatalf("the slot after one was taken back: %+v", d)
		}
		cancel(t, s, ahead)
		time.Sleep(time.Second)
		if a, b := take(t, s, charge("key", 1, l)), take(t, s, charge("key", 1, l)); !a.Allowed || b.Allowed {
			t.Errorf("with one of two booked: %+v and %+v", a, b)
		}
	})
}

// TestSettlingWhatHasLapsed: settling a lapsed booking of a sliding window changes nothing.
// The last booking after it is still the last.
func TestSettlingWhatHasLapsed(t *testing.T) {
	t.Parallel()
	for _, cost := range []int64{0, 4, 9} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t)
			limits := []store.Limit{store.Per(5, time.Second).By(store.SlidingWindow), store.Per(10, time.Hour).By(store.FixedWindow)}
			first := take(t, s, cancelable("key", 5, 0, limits...))
			time.Sleep(2 * time.Second)
			take(t, s, charge("key", 5, limits...))
			ahead := take(t, s, cancelable("key", 1, time.Hour, limits...)) // when the fixed window ends
			time.Sleep(2 * time.Second)
			settle(t, s, first, cost, 5)
			cancel(t, s, ahead)
			only := charge("key", 1, limits...)
			only.Charges[1].Cost = 0
			if d := take(t, s, only); !d.Allowed {
				t.Errorf("settled at %d, after the slot ahead was taken back: %+v", cost, d)
			}
		})
	}
}
