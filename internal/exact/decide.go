package exact

import (
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// Verdict is a store's decision on a request, in microseconds of the store's clock.
type Verdict struct {
	Allowed bool
	Now     int64
	Slot    int64 // the earliest instant at which all limits admit; at least Now
	// Full is set if the limits admit and the hold refuses: the instant from which the hold
	// admits, if no lease is renewed. Otherwise it is 0.
	Full int64
	// Keys are the request's keys, in the order of their first charges.
	Keys []Seen
}

// Seen is the part of a decision about one key.
type Seen struct {
	Slot   int64 // in the key's time
	Clock  *Move // nil: the key's time is the store's
	Others bool  // the key counts under limits that the request does not name
	// Receipt is nil if the key was not booked or the request has no tag.
	Receipt *Receipt
}

// Outcome is a store's finding for one charge, in microseconds.
type Outcome struct {
	Remaining, Reset int64
	Slot             int64 // the earliest instant at which this limit alone admits
	Key              int   // index in Verdict.Keys
}

// Decide turns a verdict into the decision that callers see, with sound numbers also if those
// of a server are not. Outcomes are in the order of the request's charges.
func Decide(req *store.Request, v *Verdict, outcomes []Outcome) store.Decision {
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
	if len(outcomes) > 1 {
		d.Charges = make([]store.ChargeState, len(outcomes))
	}
	binding, best := -1, store.ChargeState{}
	for i := range outcomes {
		c, o := &req.Charges[i], &outcomes[i]
		st := store.ChargeState{Remaining: min(max(o.Remaining, 0), c.Limit.Max()), ResetAfter: micros(o.Reset)}
		switch {
		case d.Allowed, d.Reason == store.ReasonInFlight:
		case c.Cost > c.Limit.Max():
			st.RetryAfter = store.Never
		case never < 0:
			st.RetryAfter = micros(o.Slot - v.Now)
		}
		if d.Charges != nil {
			d.Charges[i] = st
		}
		if binding < 0 || tighter(&d, &c.Limit, st, &req.Charges[binding].Limit, best) {
			binding, best = i, st
		}
	}
	d.Scope, d.Limit = req.Charges[binding].Scope, req.Charges[binding].Limit
	d.Remaining, d.ResetAfter, d.RetryAfter = best.Remaining, best.ResetAfter, best.RetryAfter
	key := Seen{}
	if at := outcomes[binding].Key; at < len(v.Keys) {
		key = v.Keys[at]
	}
	switch d.Reason {
	case store.ReasonLimited:
		d.RetryAfter = micros(v.Slot - v.Now)
		if key.Clock.paused(v.Now) {
			d.Reason = store.ReasonPaused
		}
	case store.ReasonInFlight:
		d.RetryAfter = micros(v.Full - v.Now)
	}
	for i := range v.Keys {
		d.OtherLimits = d.OtherLimits || v.Keys[i].Others
	}
	d.At = store.Instant(v.Now)
	if v.Allowed {
		d.Delay, d.Slot = micros(v.Slot-v.Now), store.Instant(key.Slot)
	}
	if key.Clock != nil {
		d.Clock, d.Gap = key.Clock, key.Clock.Gap(d.At)
	}
	return d
}

// tighter reports whether limit l binds more than limit m: by the longer RetryAfter of a
// refusal, otherwise by the smaller remaining share.
func tighter(d *store.Decision, l *store.Limit, a store.ChargeState, m *store.Limit, b store.ChargeState) bool {
	if !d.Allowed && d.Reason != store.ReasonInFlight {
		return a.RetryAfter > b.RetryAfter
	}
	return product.Compare(a.Remaining, m.Max(), b.Remaining, l.Max()) < 0
}

// MaxWait returns the longest delay of a request in whole microseconds. It is at most a
// quarter of store.MaxPeriod, so that instants stay exact.
func MaxWait(req *store.Request) int64 {
	return min(req.MaxWait, store.MaxPeriod/4).Microseconds()
}
