package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
)

// TestLimitNamedTwice: a limit that two charges name counts the larger cost once.
func TestLimitNamedTwice(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	for i, l := range every(3, time.Hour) {
		for _, costs := range [][2]int64{{0, 2}, {2, 0}, {1, 2}, {2, 2}} {
			for _, old := range []bool{false, true} {
				key := fmt.Sprint(i, costs, old)
				if old {
					take(t, s, charge(key, 0, l))
				}
				req := charge(key, 1, l, l)
				req.Cancelable = true
				req.Charges[0].Cost, req.Charges[1].Cost = costs[0], costs[1]
				d := take(t, s, req)
				if !d.Allowed || d.Charge(0).Remaining != 1 || d.Charge(1).Remaining != 1 {
					t.Errorf("%v, %v of 3: %+v", l, costs, d)
				}
				again := charge(key, 1, l, l)
				again.Charges[i%2].Cost = 2
				if d := take(t, s, again); d.Allowed {
					t.Errorf("%v, 2 more after %v of 3: %+v", l, costs, d)
				}
				if err := s.Settle(t.Context(), d.Receipt, 0); err != nil {
					t.Error(err)
				}
				if d := take(t, s, charge(key, 3, l)); !d.Allowed {
					t.Errorf("%v, %v of 3, given back: %+v", l, costs, d)
				}
			}
		}
	}
}
