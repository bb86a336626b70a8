package exact

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestVectors compares keys with the answers of an exact rational model that shares no
// code with weir.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../store/storetest/testdata/decisions.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Limits []struct {
			Algorithm store.Algorithm
			Rate      int64
			PeriodUS  int64 `json:"period_us"`
			Burst     int64
		}
		Steps []struct {
			AtUS      int64 `json:"at_us"`
			Cost      int64
			MaxWaitUS int64 `json:"max_wait_us"`
			Want      struct {
				Allowed, Never bool
				DelayUS        int64 `json:"delay_us"`
				RetryAfterUS   int64 `json:"retry_after_us"`
				Remaining      []int64
				ResetAfterUS   []int64 `json:"reset_after_us"`
			}
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var k Key
			for i, s := range c.Steps {
				req := store.Request{MaxWait: time.Duration(s.MaxWaitUS) * time.Microsecond}
				for _, l := range c.Limits {
					req.Charges = append(req.Charges, store.Charge{Cost: s.Cost, Limit: store.Limit{
						Rate: l.Rate, Period: time.Duration(l.PeriodUS) * time.Microsecond, Burst: l.Burst, Algorithm: l.Algorithm,
					}})
				}
				d, _ := take(&k, &req, begin+s.AtUS, int64(i%2))
				w := &s.Want
				near := func(got time.Duration, want int64) bool {
					off := got.Microseconds() - want
					return off >= -1 && off <= 1
				}
				ok := d.Allowed == w.Allowed && d.Delay.Microseconds() == w.DelayUS && (d.RetryAfter == store.Never) == w.Never && (w.Never || near(d.RetryAfter, w.RetryAfterUS))
				for j := range w.Remaining {
					ok = ok && d.Charge(j).Remaining == w.Remaining[j] && near(d.Charge(j).ResetAfter, w.ResetAfterUS[j])
				}
				if !ok {
					t.Fatalf("step %d, %+v:\n%+v\n%+v", i, s, d, k)
				}
			}
		})
	}
}

// take decides a request on one key.
func take(k *Key, req *store.Request, now, tag int64) (store.Decision, *Receipt) {
	groups := []Group{{Key: k, Charges: req.Charges}}
	outcomes := make([]Outcome, len(req.Charges))
	var v Verdict
	Take(req, groups, outcomes, &v, now, tag, nil)
	return Decide(req, &v, outcomes), v.Keys[0].Receipt
}
