package storetest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// The vectors are sequences of calls on one key, with the answers of an exact rational model
// that shares no code with weir.
//
//go:embed testdata/decisions.json
var vectorsJSON []byte

type vector struct {
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
			Allowed      bool
			Never        bool
			DelayUS      int64 `json:"delay_us"`
			RetryAfterUS int64 `json:"retry_after_us"`
			Remaining    []int64
			ResetAfterUS []int64 `json:"reset_after_us"`
		}
	}
}

// vectors runs each vector on a key of its own. All start at the same instant,
// so their steps are merged in order of time.
func vectors(r *run) {
	var all []vector
	r.must(json.Unmarshal(vectorsJSON, &all))
	next := make([]int, len(all))
	var now int64
	for {
		first := -1
		for i := range all {
			if next[i] < len(all[i].Steps) && (first < 0 || all[i].Steps[next[i]].AtUS < all[first].Steps[next[first]].AtUS) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		if at := all[first].Steps[next[first]].AtUS; at > now {
			r.sleep(time.Duration(at-now) * time.Microsecond)
			now = at
		}
		all[first].check(r, next[first])
		next[first]++
	}
}

func (v *vector) check(r *run, step int) {
	s := &v.Steps[step]
	req := store.Request{MaxWait: time.Duration(s.MaxWaitUS) * time.Microsecond, Cancelable: step%2 == 1}
	for _, l := range v.Limits {
		req.Charges = append(req.Charges, store.Charge{Key: v.Name, Cost: s.Cost, Limit: store.Limit{
			Rate: l.Rate, Period: time.Duration(l.PeriodUS) * time.Microsecond, Burst: l.Burst, Algorithm: l.Algorithm,
		}})
	}
	d := r.take(req)
	w := &s.Want
	var wrong []string
	differ := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s %v, want %v", what, got, want))
	}
	near := func(what string, got time.Duration, want int64) {
		if off := got - time.Duration(want)*time.Microsecond; off < -time.Microsecond || off > time.Microsecond {
			differ(what, got, time.Duration(want)*time.Microsecond)
		}
	}
	if d.Allowed != w.Allowed {
		differ("allowed", d.Allowed, w.Allowed)
	}
	if never := d.Reason == store.ReasonNeverFits; never != w.Never {
		differ("reason", d.Reason, "never_fits "+fmt.Sprint(w.Never))
	}
	if w.Never != (d.RetryAfter == store.Never) {
		differ("retry after", d.RetryAfter, store.Never)
	}
	if got := d.Delay.Microseconds(); got != w.DelayUS || d.Delay%time.Microsecond != 0 {
		differ("delay", d.Delay, w.DelayUS)
	}
	if !w.Never {
		near("retry after", d.RetryAfter, w.RetryAfterUS)
	}
	for i := range w.Remaining {
		c := d.Charge(i)
		if c.Remaining != w.Remaining[i] {
			differ(fmt.Sprintf("remaining of limit %d", i), c.Remaining, w.Remaining[i])
		}
		near(fmt.Sprintf("reset after of limit %d", i), c.ResetAfter, w.ResetAfterUS[i])
	}
	if len(wrong) > 0 {
		r.Errorf("%s, step %d at %dµs, cost %d: %q", v.Name, step, s.AtUS, s.Cost, wrong)
	}
}
