package exact

import (
	"time"

	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Outcome is a store's finding for one charge.
type Outcome struct {
	State State
	// Viewed says that Remaining and Reset (in µs) are set instead of State.
	Viewed           bool
	Remaining, Reset int64
	// Slot is the earliest instant at which this limit alone admits the cost.
	Slot int64
	// Brake is the index of its key's brake in Verdict.Brakes.
	Brake int
}

// Verdict is a store's decision on a request, all in microseconds of the store's
// clock.
type Verdict struct {
	Allowed bool
	Now     int64
	Slot    int64 // the booked instant when allowed, not before Now
	// Braked says that at least one of the request's keys has a brake. Brakes are
	// the brakes of all keys.
	Braked bool
	Brakes []Braked
	// Full is 0 unless the limits admit but the hold refuses: the instant from which
	// it admits, if no lease is renewed.
	Full int64
}

// Braked holds a key's brake for a decision; zero if none is set. At is the instant
// at which it was set, Paused the end of the pause, From the first instant at which
// it admits, Gap the time between units, Told the part of Gap that the upstream
// asked for.
type Braked struct{ At, Paused, From, Gap, Told int64 }

// Decide turns a verdict into the decision that callers see. outcomes are in
// the order of the request's charges.
func Decide(req *store.Request, v Verdict, outcomes []Outcome) store.Decision {
	var d store.Decision
	never := req.NeverFits()
	switch {
	case never >= 0:
		d.Reason = store.ReasonNeverFits
	case v.Full > 0:
		d.Reason = store.ReasonInFlight
	case v.Allowed || req.Peek():
		d.Allowed = true
	default:
		d.Reason = store.ReasonLimited
	}
	if v.Allowed {
		d.Delay = micros(v.Slot - v.Now)
	}
	if len(outcomes) > 1 {
		d.Charges = make([]store.ChargeState, len(outcomes))
	}
	binding := -1
	var best store.ChargeState
	for i := range outcomes {
		c := &req.Charges[i]
		remaining, reset := outcomes[i].Remaining, outcomes[i].Reset
		if !outcomes[i].Viewed {
			remaining, reset = View(&c.Limit, outcomes[i].State, v.Now)
		}
		if v.Braked {
			remaining, reset = v.Brakes[outcomes[i].Brake].view(remaining, reset, v.Now)
		}
		st := store.ChargeState{Remaining: remaining, ResetAfter: micros(reset)}
		switch {
		case d.Allowed, d.Reason == store.ReasonInFlight:
		case c.Cost > c.Limit.Max():
			st.RetryAfter = store.Never
		case never < 0:
			st.RetryAfter = micros(outcomes[i].Slot - v.Now)
		}
		if d.Charges != nil {
			d.Charges[i] = st
		}
		if binding < 0 || tighter(&d, &c.Limit, st, &req.Charges[binding].Limit, best) {
			binding, best = i, st
		}
	}
	d.Scope, d.Limit = req.Charges[binding].Scope, req.Charges[binding].Limit
	d.Remaining, d.ResetAfter = best.Remaining, best.ResetAfter
	d.RetryAfter = best.RetryAfter
	switch d.Reason {
	case store.ReasonLimited:
		d.RetryAfter = micros(v.Slot - v.Now)
		if v.Braked && v.Brakes[outcomes[binding].Brake].Paused > v.Now {
			d.Reason = store.ReasonPaused
		}
	case store.ReasonInFlight:
		d.RetryAfter = micros(v.Full - v.Now)
	}
	d.At = store.Instant(v.Now)
	if v.Braked {
		for _, k := range v.Brakes {
			d.BrakedAt = max(d.BrakedAt, store.Instant(k.At))
			d.Gap, d.Told = max(d.Gap, micros(k.Gap)), max(d.Told, micros(k.Told))
		}
	}
	return d
}

// view returns the remaining units of a limit under the brake, and the time until
// both are as if never used.
func (k *Braked) view(remaining, reset, now int64) (int64, int64) {
	switch {
	case k.From > now:
		return 0, max(reset, k.From-now)
	case k.Gap > 0:
		return min(remaining, 1), reset
	}
	return remaining, reset
}

// tighter reports whether limit l binds more than limit m: it has the longer
// RetryAfter of a refusal, else the smaller share remaining.
func tighter(d *store.Decision, l *store.Limit, a store.ChargeState, m *store.Limit, b store.ChargeState) bool {
	if !d.Allowed && d.Reason != store.ReasonInFlight {
		return a.RetryAfter > b.RetryAfter
	}
	return product.Compare(a.Remaining, m.Max(), b.Remaining, l.Max()) < 0
}

// MaxWait returns the longest delay of a request in whole microseconds, at
// most a quarter of store.MaxPeriod so that instants stay exact.
func MaxWait(req *store.Request) int64 {
	return min(req.MaxWait, store.MaxPeriod/4).Microseconds()
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
