package exact

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// viewed is the outcome of a limit: units, and in us the time until it is as if
// never used and the time until it admits the cost.
func viewed(remaining, reset, slot int64) Outcome {
	return Outcome{Viewed: true, Remaining: remaining, Reset: reset, Slot: now + slot}
}

func request(costs []int64, limits ...store.Limit) *store.Request {
	var req store.Request
	for i, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: "key", Limit: l, Cost: costs[i]})
	}
	return &req
}

func TestDecide(t *testing.T) {
	t.Parallel()
	ten, five, hundred := store.Per(10, time.Second), store.Per(5, time.Minute), store.Per(100, time.Hour).By(store.FixedWindow)
	us := time.Microsecond
	for name, test := range map[string]struct {
		req      *store.Request
		verdict  Verdict
		outcomes []Outcome
		want     store.Decision
	}{
		"allowed now": {
			request([]int64{1}, ten), Verdict{Allowed: true, Now: now, Slot: now}, []Outcome{viewed(9, 100_000, 0)},
			store.Decision{Allowed: true, Limit: ten, Remaining: 9, ResetAfter: 100 * time.Millisecond},
		},
		"allowed later": {
			request([]int64{1}, ten), Verdict{Allowed: true, Now: now, Slot: now + 70}, []Outcome{viewed(0, 1_000_070, 70)},
			store.Decision{Allowed: true, Delay: 70 * us, Limit: ten, ResetAfter: time.Second + 70*us},
		},
		"refused": {
			request([]int64{3}, ten), Verdict{Allowed: false, Now: now, Slot: now + 70}, []Outcome{viewed(2, 500, 70)},
			store.Decision{Reason: store.ReasonLimited, RetryAfter: 70 * us, Limit: ten, Remaining: 2, ResetAfter: 500 * us},
		},
		"a hold refuses what the limits admit": {
			request([]int64{3, 1}, ten, five), Verdict{Now: now, Slot: now + 70, Full: now + 900}, []Outcome{viewed(2, 500, 70), viewed(0, 600, 0)},
			store.Decision{Reason: store.ReasonInFlight, RetryAfter: 900 * us, Limit: five, ResetAfter: 600 * us, Charges: []store.ChargeState{
				{Remaining: 2, ResetAfter: 500 * us}, {ResetAfter: 600 * us},
			}},
		},
		"never": {
			request([]int64{11}, ten), Verdict{Allowed: false, Now: now, Slot: now}, []Outcome{viewed(2, 500, 0)},
			store.Decision{Reason: store.ReasonNeverFits, RetryAfter: store.Never, Limit: ten, Remaining: 2, ResetAfter: 500 * us},
		},
		"a look": {
			request([]int64{0}, ten), Verdict{Allowed: false, Now: now, Slot: now}, []Outcome{viewed(2, 500, 0)},
			store.Decision{Allowed: true, Limit: ten, Remaining: 2, ResetAfter: 500 * us},
		},
		"a look past slots that are still to come": {
			request([]int64{0}, ten), Verdict{Allowed: false, Now: now, Slot: now + 900}, []Outcome{viewed(0, 500, 0)},
			store.Decision{Allowed: true, Limit: ten, ResetAfter: 500 * us},
		},
		"a state instead of what it means": {
			request([]int64{1}, hundred), Verdict{Allowed: true, Now: now, Slot: now}, []Outcome{{State: State{A: now, B: 30}, Slot: now}},
			store.Decision{Allowed: true, Limit: hundred, Remaining: 70, ResetAfter: time.Hour},
		},
		"the smallest share binds": {
			request([]int64{1, 1, 1}, ten, five, hundred), Verdict{Allowed: true, Now: now, Slot: now},
			[]Outcome{viewed(4, 1, 0), viewed(2, 2, 0), viewed(39, 3, 0)},
			store.Decision{Allowed: true, Limit: hundred, Remaining: 39, ResetAfter: 3 * us, Charges: []store.ChargeState{
				{Remaining: 4, ResetAfter: 1 * us}, {Remaining: 2, ResetAfter: 2 * us}, {Remaining: 39, ResetAfter: 3 * us},
			}},
		},
		"the first of equal shares binds": {
			request([]int64{1, 1, 1}, ten, five, hundred), Verdict{Allowed: true, Now: now, Slot: now},
			[]Outcome{viewed(4, 1, 0), viewed(2, 2, 0), viewed(40, 3, 0)},
			store.Decision{Allowed: true, Limit: ten, Remaining: 4, ResetAfter: 1 * us, Charges: []store.ChargeState{
				{Remaining: 4, ResetAfter: 1 * us}, {Remaining: 2, ResetAfter: 2 * us}, {Remaining: 40, ResetAfter: 3 * us},
			}},
		},
		"the longest wait binds, not the smallest share": {
			request([]int64{1, 1, 1}, ten, five, hundred), Verdict{Allowed: false, Now: now, Slot: now + 80},
			[]Outcome{viewed(0, 100, 70), viewed(1, 2, 80), viewed(90, 3, 0)},
			store.Decision{Reason: store.ReasonLimited, RetryAfter: 80 * us, Limit: five, Remaining: 1, ResetAfter: 2 * us, Charges: []store.ChargeState{
				{ResetAfter: 100 * us, RetryAfter: 70 * us}, {Remaining: 1, ResetAfter: 2 * us, RetryAfter: 80 * us}, {Remaining: 90, ResetAfter: 3 * us},
			}},
		},
		"one of two never fits": {
			request([]int64{7, 7}, ten, five), Verdict{Allowed: false, Now: now, Slot: now},
			[]Outcome{viewed(0, 100, 70), viewed(5, 0, 0)},
			store.Decision{Reason: store.ReasonNeverFits, RetryAfter: store.Never, Limit: five, Remaining: 5, Charges: []store.ChargeState{
				{ResetAfter: 100 * us}, {Remaining: 5, RetryAfter: store.Never},
			}},
		},
		"one of two is only looked at": {
			request([]int64{1, 0}, ten, five), Verdict{Allowed: true, Now: now, Slot: now},
			[]Outcome{viewed(9, 1, 0), viewed(0, 70, 0)},
			store.Decision{Allowed: true, Limit: five, ResetAfter: 70 * us, Charges: []store.ChargeState{
				{Remaining: 9, ResetAfter: 1 * us}, {ResetAfter: 70 * us},
			}},
		},
		"shares that products of 64 bits can't tell apart": {
			request([]int64{1, 1}, store.Per(store.MaxUnits, time.Second), store.Per(store.MaxUnits-1, time.Second)), Verdict{Allowed: true, Now: now, Slot: now},
			[]Outcome{viewed(store.MaxUnits-1, 1, 0), viewed(store.MaxUnits-2, 1, 0)},
			store.Decision{Allowed: true, Limit: store.Per(store.MaxUnits-1, time.Second), Remaining: store.MaxUnits - 2, ResetAfter: 1 * us, Charges: []store.ChargeState{
				{Remaining: store.MaxUnits - 1, ResetAfter: 1 * us}, {Remaining: store.MaxUnits - 2, ResetAfter: 1 * us},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.At = now
			if got := Decide(test.req, test.verdict, test.outcomes); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestDecideLevels: a decision names the scope that binds, and a brake is that of
// its key alone.
func TestDecideLevels(t *testing.T) {
	t.Parallel()
	l := store.Per(10, time.Second)
	req := &store.Request{Charges: []store.Charge{{Scope: "user", Limit: l, Cost: 1}, {Scope: "org", Limit: l, Cost: 1}}}
	outcomes := []Outcome{viewed(9, 0, 40), viewed(8, 0, 70)}
	outcomes[1].Brake = 1
	v := Verdict{Now: now, Slot: now + 70, Braked: true, Brakes: []Braked{{}, {At: 5, Paused: now + 70, From: now + 70, Gap: 3, Told: 2}}}
	d := Decide(req, v, outcomes)
	if d.Scope != "org" || d.Reason != store.ReasonPaused || d.Charge(0).Remaining != 9 || d.Charge(1).Remaining != 0 ||
		d.BrakedAt != 5 || d.Gap != 3*time.Microsecond || d.Told != 2*time.Microsecond {
		t.Errorf("org is paused: %+v", d)
	}
	outcomes[0].Slot, v.Slot = now+90, now+90
	if d := Decide(req, v, outcomes); d.Scope != "user" || d.Reason != store.ReasonLimited || d.RetryAfter != 90*time.Microsecond {
		t.Errorf("user has to wait longer: %+v", d)
	}
}

// TestDecideBinds at random: of an allowed request the smallest share, of a
// refused one the longest wait.
func TestDecideBinds(t *testing.T) {
	t.Parallel()
	rng := newRand(9)
	for range 5000 {
		n := 1 + rng.IntN(5)
		req := &store.Request{}
		outcomes := make([]Outcome, n)
		slot := int64(0)
		for i := range outcomes {
			l := randomLimit(rng, store.Algorithm(rng.IntN(5)))
			req.Charges = append(req.Charges, store.Charge{Limit: l, Cost: 1})
			outcomes[i] = viewed(rng.Int64N(l.Max()+1), rng.Int64N(1000), rng.Int64N(1000))
			slot = max(slot, outcomes[i].Slot)
		}
		for _, allowed := range []bool{true, false} {
			d := Decide(req, Verdict{Allowed: allowed, Now: now, Slot: slot}, outcomes)
			for i := range outcomes {
				c := d.Charge(i)
				share, least := rat(c.Remaining, req.Charges[i].Limit.Max()), rat(d.Remaining, d.Limit.Max())
				if allowed && (c.RetryAfter != 0 || share.Cmp(least) < 0) || !allowed && c.RetryAfter > d.RetryAfter {
					t.Fatalf("limit %d of %+v\nbinds more than %v: %+v", i, req, d.Limit, d)
				}
			}
			if wait := time.Duration(slot-now) * time.Microsecond; allowed && d.Delay != wait || !allowed && d.RetryAfter != wait {
				t.Fatalf("a slot after %v: %+v", wait, d)
			}
		}
	}
}

func TestMaxWait(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int64{
		0:                      0,
		999 * time.Nanosecond:  0,
		1999 * time.Nanosecond: 1,
		time.Hour:              3_600_000_000,
		store.MaxPeriod / 4:    store.MaxPeriod.Microseconds() / 4,
		math.MaxInt64:          store.MaxPeriod.Microseconds() / 4,
	} {
		if got := MaxWait(&store.Request{MaxWait: wait}); got != want {
			t.Errorf("%v: %d, want %d", wait, got, want)
		}
	}
}
