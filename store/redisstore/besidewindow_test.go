package redisstore

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestShareBesideASlidingWindow: a limit that becomes a sliding window keeps its used share
// beside another sliding window, once that one counts nothing.
func TestShareBesideASlidingWindow(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	second := store.Per(10, time.Second).By(store.SlidingWindow)
	for _, l := range every(20, 24*time.Hour) {
		if l.Algorithm == store.SlidingWindow {
			continue
		}
		key := l.Algorithm.String()
		for range 2 {
			take(t, s, charge(key, 10, second, l))
			sleep(2 * time.Second)
		}
		if d := take(t, s, charge(key, 1, second, l.By(store.SlidingWindow))); d.Allowed {
			t.Errorf("%v: 20 of 20 a day are used, then 20 in a sliding day beside 10 in a sliding second: %+v", l.Algorithm, d)
		}
	}
}

// TestSettleBesideALimitLeftOut: a charge with a cost of 0 was not booked, so its settled
// cost counts nowhere, also not under a limit that the request leaves out.
func TestSettleBesideALimitLeftOut(t *testing.T) {
	t.Parallel()
	s, _ := newStill(t, redistest.Start(t).Client(), "")
	for _, old := range every(100, time.Hour) {
		for _, one := range every(200, time.Hour) {
			key := old.Algorithm.String() + one.Algorithm.String()
			take(t, s, charge(key, 1, old))
			req := charge(key, 2, one, store.Per(300, time.Hour))
			req.Charges[1].Cost, req.Cancelable = 0, true
			if err := s.Settle(t.Context(), take(t, s, req).Receipt, 2, 50); err != nil {
				t.Fatal(err)
			}
			if d := take(t, s, charge(key, 0, old)); d.Remaining < 97 {
				t.Errorf("%v, %v: 3 of 100 are used, and 50 were settled that no limit counts: %d remain", old.Algorithm, one.Algorithm, d.Remaining)
			}
		}
	}
}
