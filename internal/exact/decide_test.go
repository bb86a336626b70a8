package exact

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestDecideWithUnsoundNumbers: no number of a server makes a duration negative, or more units
// remain than the limit has.
func TestDecideWithUnsoundNumbers(t *testing.T) {
	t.Parallel()
	const now = 1_790_000_000_000_000
	limit := store.Per(5, time.Second)
	numbers := []int64{math.MinInt64, -now, -1, 0, 1, 5, 6, now - 1, now, now + 1, 1 << 53, math.MaxInt64}
	for _, n := range numbers {
		for _, m := range numbers {
			for name, v := range map[string]Verdict{
				"allowed": {Allowed: true, Now: m, Slot: n}, "limited": {Now: m, Slot: n}, "in flight": {Now: m, Slot: m, Full: n},
			} {
				for charges := range 3 {
					req := store.Request{Charges: make([]store.Charge, charges+1)}
					outcomes := make([]Outcome, charges+1)
					for i := range outcomes {
						req.Charges[i] = store.Charge{Key: "k", Limit: limit, Cost: 1}
						outcomes[i] = Outcome{Remaining: n, Reset: m, Slot: n}
					}
					d := Decide(&req, &v, outcomes)
					for i, c := range append([]store.ChargeState{{Remaining: d.Remaining, ResetAfter: min(d.ResetAfter, d.Delay), RetryAfter: d.RetryAfter}}, d.Charges...) {
						if c.Remaining < 0 || c.Remaining > 5 || c.ResetAfter < 0 || c.RetryAfter < 0 || c.RetryAfter == store.Never {
							t.Error(fmt.Sprint(name, ", ", n, " and ", m, ", ", i), fmt.Sprintf("%+v", d))
						}
					}
				}
			}
		}
	}
}
