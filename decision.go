package weir

import "time"

// Reason says why a request was refused. Its zero value is that of an allowed
// one.
type Reason uint8

const (
	// Allowed: nothing refused.
	Allowed Reason = iota
	// Limited: a limit has too little left now, or the delay would be longer
	// than MaxWait.
	Limited
	// NeverFits: the cost is over the limit's burst or rate.
	NeverFits
	// TooManyWaiters: the limiter's bound on waiting calls is reached.
	TooManyWaiters
	// Paused: the key may not be used before a set instant.
	Paused
	// InFlight: as many calls of the key are in flight as may be, see [Hold].
	InFlight

	reasons
)

var reasonNames = [reasons]string{"allowed", "limited", "never_fits", "too_many_waiters", "paused", "in_flight"}

// String returns the reason in lower case with underscores, fit for a metric's
// label.
func (r Reason) String() string {
	if r >= reasons {
		return "unknown"
	}
	return reasonNames[r]
}

// Decision is the outcome of one request. All times are durations from the
// instant of the decision, by the store's clock, rounded up to the
// microsecond.
type Decision struct {
	// Allowed: every charge was made. Wait for Delay before acting.
	Allowed bool
	// Degraded: decided without the primary store.
	Degraded bool
	// Reason is Allowed, or why the request was refused.
	Reason Reason
	// Delay is how long a granted reservation has to wait; 0: act now.
	Delay time.Duration
	// RetryAfter, when refused: the same request succeeds after exactly this
	// long if nobody else takes. [Never] when it can't. Of InFlight it is a
	// bound: when leases enough have ended by themselves, unless they are
	// renewed; it is earlier when they are released.
	RetryAfter time.Duration
	// Limit is the binding limit: of a refusal the one with the longest
	// RetryAfter, otherwise the one with the smallest share remaining.
	Limit Limit
	// Scope says whose limit that is: the Scope of its charge, which is the name
	// of the Limiter. Of a refusal by one of several levels it names the level.
	Scope string
	// Remaining is how many units of the binding limit the next calls can
	// take, never negative.
	Remaining int64
	// ResetAfter is how long until the binding limit is as if never used, if
	// nobody takes.
	ResetAfter time.Duration
	// Charges holds the state of each charge's limit, in the request's order.
	// It is nil when the request had one charge; [Decision.Charge] covers both.
	Charges []ChargeState
	// At is the instant of the decision by the store's clock; 0 when the store
	// does not say.
	At Instant
	// BrakedAt is when what slows the key down beyond its limits was set last
	// (see [Brake]), Gap the least time that it puts between the slots of two
	// units, and Told what of that was told. All are 0 when nothing does.
	BrakedAt  Instant
	Gap, Told time.Duration
	// Receipt is what [Canceler] and [Settler] take; opaque. Nil unless the request
	// was Cancelable and allowed.
	Receipt any
}

// ChargeState is the state of one charge's limit after the decision.
type ChargeState struct {
	Remaining  int64
	ResetAfter time.Duration
	// RetryAfter is how long this limit alone would have the request wait; 0
	// when it would admit it now, [Never] when the cost never fits. 0 for each
	// of a request that was refused as InFlight, where no limit refused.
	RetryAfter time.Duration
}

// Charge returns the state of the i-th charge's limit; the zero ChargeState
// where the decision knows none.
func (d *Decision) Charge(i int) ChargeState {
	switch {
	case d.Charges == nil && i == 0 && d.Reason == InFlight:
		return ChargeState{Remaining: d.Remaining, ResetAfter: d.ResetAfter}
	case d.Charges == nil && i == 0:
		return ChargeState{d.Remaining, d.ResetAfter, d.RetryAfter}
	case i < 0 || i >= len(d.Charges):
		return ChargeState{}
	}
	return d.Charges[i]
}
