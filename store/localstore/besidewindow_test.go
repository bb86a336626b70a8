package localstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// TestShareBesideASlidingWindow: a limit that becomes a sliding window keeps its used share
// beside another sliding window, once that one counts nothing.
func TestShareBesideASlidingWindow(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.GCRA, store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		synctest.Test(t, func(t *testing.T) {
			s, second, day := open(t), store.Per(10, time.Second).By(store.SlidingWindow), store.Per(20, 24*time.Hour)
			for range 2 {
				take(t, s, charge("key", 10, second, day.By(a)))
				time.Sleep(2 * time.Second)
			}
			if d := take(t, s, charge("key", 1, second, day.By(store.SlidingWindow))); d.Allowed {
				t.Errorf("%v: 20 of 20 a day are used, then 20 in a sliding day beside 10 in a sliding second: %+v", a, d)
			}
		})
	}
}

// TestSettleBesideALimitLeftOut: a charge with a cost of 0 was not booked, so its settled
// cost counts nowhere, also not under a limit that the request leaves out.
func TestSettleBesideALimitLeftOut(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		s, old := open(t), store.Per(100, time.Hour).By(a)
		take(t, s, charge("key", 1, old))
		req := charge("key", 2, store.Per(200, time.Hour), store.Per(300, time.Hour))
		req.Charges[1].Cost, req.Cancelable = 0, true
		if err := s.Settle(t.Context(), take(t, s, req).Receipt, 2, 50); err != nil {
			t.Fatal(err)
		}
		if d := take(t, s, charge("key", 0, old)); d.Remaining < 97 {
			t.Errorf("%v: 3 of 100 are used, and 50 were settled that no limit counts: %d remain", a, d.Remaining)
		}
	}
}
