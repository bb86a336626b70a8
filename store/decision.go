package store

import "time"

// Reason says why a request was refused. Its zero value belongs to an allowed
// request.
type Reason uint8

const (
	// ReasonAllowed: the request was allowed.
	ReasonAllowed Reason = iota
	// ReasonLimited: a limit has too little left now, or the delay would be longer than
	// MaxWait.
	ReasonLimited
	// ReasonNeverFits: the cost is over the limit's burst or rate.
	ReasonNeverFits
	// ReasonTooManyWaiters: the limiter's bound on waiting calls is reached.
	ReasonTooManyWaiters
	// ReasonPaused: the key may not be used before a set instant.
	ReasonPaused
	// ReasonInFlight: too many calls of the key are in flight, see [Hold].
	ReasonInFlight

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

// Source says what decided. Its zero value belongs to a store that asked its server or
// its own memory.
type Source uint8

const (
	// SourceStore: the store, by its whole knowledge of the key.
	SourceStore Source = iota
	// SourceDenyCache: the process, as the store refused an equal request just now.
	SourceDenyCache
	// SourceLease: the process, from units that it took ahead.
	SourceLease
	// SourceFallback: the policy of the fallback, without the primary store.
	SourceFallback
	// SourceLimiter: the limiter refused and asked no store.
	SourceLimiter

	sources
)

var sourceNames = [sources]string{"store", "deny_cache", "lease", "fallback", "limiter"}

// String returns the source in lower case with underscores, fit for a metric's label.
func (s Source) String() string {
	if s >= sources {
		return "unknown"
	}
	return sourceNames[s]
}

// Decision is the outcome of one request. All times are durations from the
// instant of the decision, by the store's clock, rounded up to the microsecond.
type Decision struct {
	// Allowed: every charge was made. The caller acts after Delay.
	Allowed bool
	// Degraded: decided without the primary store.
	Degraded bool
	// OtherLimits: a key's units also count under limits that the request does not name, until
	// these lapse. Causes are a changed plan, and programs with different limits under one
	// Name.
	OtherLimits bool
	// Reason is ReasonAllowed, or why the request was refused.
	Reason Reason
	// Source says what decided.
	Source Source
	// Delay is how long a granted reservation has to wait; 0: act now.
	Delay time.Duration
	// RetryAfter is set by a refusal: the same request succeeds after exactly this long if no
	// other call takes units. [Never] when no waiting helps. For ReasonInFlight it is the
	// time until enough leases end, unless they are renewed. Released leases make room
	// earlier.
	RetryAfter time.Duration
	// Limit is the binding limit: of a refusal the one with the longest
	// RetryAfter, otherwise the one with the smallest share remaining.
	Limit Limit
	// Scope is the Scope of the binding limit's charge.
	Scope string
	// Remaining is how many units of the binding limit the next calls can take,
	// never negative.
	Remaining int64
	// ResetAfter is the time until the binding limit is as if never used, if no call takes
	// units.
	ResetAfter time.Duration
	// Charges holds the state of each charge's limit, in the request's order. It
	// is nil when the request had one charge; [Decision.Charge] covers both.
	Charges []ChargeState

	// At is the instant of the decision by the store's clock; 0 when the store
	// has no clock of its own.
	At Instant
	// Slot is the booked instant of the key's time; 0 when nothing was booked, or no brake can
	// move the slot. Without a brake it is At plus Delay.
	Slot Instant
	// Clock is the key's clock; nil when no brake ever moved its slots, so that its time is
	// the store's. With several keys it is the clock of the binding limit's key.
	Clock Clock
	// Gap is the time between two units that an upstream advertised (Brake.Tell).
	// 0: none.
	Gap time.Duration
	// Receipt is the argument of [Canceler] and [Settler]; opaque. Nil unless the
	// request was Cancelable and allowed.
	Receipt any
}

// ChargeState is the state of one charge's limit after the decision.
type ChargeState struct {
	// Remaining is how many units of the limit the next calls can take.
	Remaining int64
	// ResetAfter is the time until the limit is as if never used.
	ResetAfter time.Duration
	// RetryAfter is how long this limit alone makes the request wait; 0 when it admits the
	// request now, [Never] when the cost never fits. It is 0 for every charge of a request
	// refused with ReasonInFlight, since no limit refused.
	RetryAfter time.Duration
}

// Charge returns the state of the i-th charge's limit; the zero ChargeState when
// the decision has none.
func (d *Decision) Charge(i int) ChargeState {
	switch {
	case d.Charges == nil && i == 0 && d.Reason == ReasonInFlight:
		return ChargeState{Remaining: d.Remaining, ResetAfter: d.ResetAfter}
	case d.Charges == nil && i == 0:
		return ChargeState{d.Remaining, d.ResetAfter, d.RetryAfter}
	case i < 0 || i >= len(d.Charges):
		return ChargeState{}
	}
	return d.Charges[i]
}
