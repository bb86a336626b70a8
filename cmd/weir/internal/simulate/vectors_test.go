package simulate

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestVectors compares runs with the answers of an exact rational model that shares no
// code with weir.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../store/storetest/testdata/decisions.json")
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
				Allowed bool
				DelayUS int64 `json:"delay_us"`
			}
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	begin, steps := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			cand := Candidate{}
			for _, l := range c.Limits {
				cand.Limits = append(cand.Limits, store.Limit{Rate: l.Rate, Period: time.Duration(l.PeriodUS) * time.Microsecond, Burst: l.Burst, Algorithm: l.Algorithm})
			}
			cfg := Config{}
			r := newRun(&cfg, &cand)
			for i, s := range c.Steps {
				now := begin + s.AtUS
				caller, err := r.caller("", now)
				if err != nil {
					t.Fatal(err)
				}
				for j := range r.charges {
					r.charges[j].Cost = s.Cost
				}
				cfg.MaxWait = time.Duration(s.MaxWaitUS) * time.Microsecond
				slot, ok := r.decide(&caller.key, now)
				req := store.Request{Charges: r.charges}
				ok = ok || req.Free() && req.NeverFits() < 0 // a look
				if ok != s.Want.Allowed || ok && slot-now != s.Want.DelayUS {
					t.Fatalf("step %d, %+v: allowed %v after %d µs", i, s, ok, slot-now)
				}
				steps++
			}
		})
	}
	if steps < 500 {
		t.Errorf("only %d steps", steps)
	}
}

// TestAsLocalstore compares each decision of runs with a store in a bubble, where time
// passes at once.
func TestAsLocalstore(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, wait := range []time.Duration{0, 700 * time.Millisecond} {
			t.Run(a.String()+" "+wait.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := localstore.New(localstore.Config{})
					if err != nil {
						t.Fatal(err)
					}
					limits := []store.Limit{{Rate: 7, Period: time.Second, Algorithm: a}, {Rate: 40, Period: 10 * time.Second, Algorithm: store.SlidingWindow}}
					cfg := Config{MaxWait: wait, Step: time.Second}
					r := newRun(&cfg, &Candidate{Limits: limits})
					random := rand.New(rand.NewPCG(1, uint64(a)))
					for i := range 2000 {
						time.Sleep(time.Duration(random.Int64N(200_000)) * time.Microsecond)
						now, key := time.Now().UnixMicro(), string(rune('a'+random.IntN(2)))
						req := store.Request{MaxWait: wait}
						for _, l := range limits {
							req.Charges = append(req.Charges, store.Charge{Scope: "s", Key: key, Limit: l, Cost: 1})
						}
						want, err := s.Take(context.Background(), req)
						if err != nil {
							t.Fatal(err)
						}
						c, err := r.caller(key, now)
						if err != nil {
							t.Fatal(err)
						}
						slot, ok := r.decide(&c.key, now)
						d := exact.Decide(&req, &r.verdict, r.outcomes)
						if ok != want.Allowed || ok && time.Duration(slot-now)*time.Microsecond != want.Delay || d.Remaining != want.Remaining || d.RetryAfter != want.RetryAfter {
							t.Fatalf("call %d: %v %+v, the store has %+v", i, ok, d, want)
						}
					}
				})
			})
		}
	}
}
