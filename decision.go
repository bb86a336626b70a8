package weir

import (
	"time"

	"github.com/goweir/weir/store"
)

// Reason says why a request was refused. The zero value belongs to an allowed request.
type Reason = store.Reason

// The reasons. See [store.Reason] for their meaning.
const (
	ReasonAllowed        = store.ReasonAllowed
	ReasonLimited        = store.ReasonLimited
	ReasonNeverFits      = store.ReasonNeverFits
	ReasonTooManyWaiters = store.ReasonTooManyWaiters
	ReasonPaused         = store.ReasonPaused
	ReasonInFlight       = store.ReasonInFlight
)

// Source names the part that decided a call. Its zero value is the store.
type Source = store.Source

// The sources. See [store.Source] for their meaning.
const (
	SourceStore     = store.SourceStore
	SourceDenyCache = store.SourceDenyCache
	SourceLease     = store.SourceLease
	SourceFallback  = store.SourceFallback
	SourceLimiter   = store.SourceLimiter
)

// Decision is the outcome of one call. All times are durations from the instant
// of the decision, by the store's clock, rounded up to the microsecond.
type Decision struct {
	// Allowed: every limit admitted the call. Wait for Delay before acting.
	Allowed bool
	// Degraded: decided without the primary store.
	Degraded bool
	// OtherLimits: the key's units also count under limits that the call does not name,
	// for as long as those are remembered. A plan that changed causes that, and so do
	// programs with unlike limits under one Name.
	OtherLimits bool
	// Reason is Allowed, or why the call was refused.
	Reason Reason
	// Source names the part that decided: the store, or a part that spared asking it.
	Source Source
	// Delay is how long a granted reservation has to wait; 0: act now.
	Delay time.Duration
	// RetryAfter is set by a refusal: the same call succeeds after exactly this
	// long unless others take units. [Never] when no waiting helps. For ReasonInFlight it is
	// a bound: room comes earlier when calls end.
	RetryAfter time.Duration
	// Limit is the binding limit: of a refusal the one with the longest
	// RetryAfter, otherwise the one with the smallest share remaining.
	Limit Limit
	// Scope is the name of the Limiter with the binding limit.
	Scope string
	// Remaining is how many units of the binding limit the next calls can take,
	// never negative.
	Remaining int64
	// ResetAfter is how long until the binding limit is as if never used, unless
	// units are taken.
	ResetAfter time.Duration
	// Charges holds the state of each limit, in their order. It is nil when the
	// call had one limit; [Decision.Charge] covers both.
	Charges []store.ChargeState
}

// Near reports whether the call was allowed and the binding limit has at most a fifth
// of its units left for the next calls. Warn then, before calls are refused. Limits of
// fewer than 5 units are never near, as nearly each of their calls would be.
func (d *Decision) Near() bool {
	most := d.Limit.Max()
	return d.Allowed && most >= 5 && d.Remaining <= most/5
}

// Charge returns the state of the i-th limit; the zero one when the
// decision has none.
func (d *Decision) Charge(i int) store.ChargeState {
	c := store.Decision{Reason: d.Reason, Charges: d.Charges, Remaining: d.Remaining, ResetAfter: d.ResetAfter, RetryAfter: d.RetryAfter}
	return c.Charge(i)
}

// decisionOf returns the callers' half of a store's decision.
func decisionOf(s *store.Decision) Decision {
	return Decision{
		Allowed: s.Allowed, Degraded: s.Degraded, OtherLimits: s.OtherLimits, Reason: s.Reason, Source: s.Source,
		Delay: s.Delay, RetryAfter: s.RetryAfter,
		Limit: Limit(s.Limit), Scope: s.Scope,
		Remaining: s.Remaining, ResetAfter: s.ResetAfter, Charges: s.Charges,
	}
}

// from makes d, which is zero, the callers' half of a store's decision.
func (d *Decision) from(s *store.Decision) {
	d.Allowed, d.Degraded, d.OtherLimits, d.Reason, d.Source = s.Allowed, s.Degraded, s.OtherLimits, s.Reason, s.Source
	d.Delay, d.RetryAfter = s.Delay, s.RetryAfter
	d.Limit, d.Scope = Limit(s.Limit), s.Scope
	d.Remaining, d.ResetAfter, d.Charges = s.Remaining, s.ResetAfter, s.Charges
}

// set makes d, which is zero, the decision of the store's shorter way.
func (d *Decision) set(o *store.Outcome, source Source, limit Limit, scope string) {
	d.Reason = o.Reason()
	d.Allowed = d.Reason == store.ReasonAllowed
	d.RetryAfter = o.RetryAfter
	d.Source, d.Limit, d.Scope = source, limit, scope
	d.Remaining, d.ResetAfter = o.Remaining, o.ResetAfter
}

// Bound is a bound on how long a call may wait.
type Bound uint8

const (
	BoundNone     Bound = iota // the call does not wait
	BoundMaxWait               // the configured longest wait
	BoundDeadline              // the context's deadline

	bounds
)

var boundNames = [bounds]string{"none", "max_wait", "deadline"}

// String returns the bound in lower case with underscores, fit for a metric's label.
func (b Bound) String() string {
	if b >= bounds {
		return "unknown"
	}
	return boundNames[b]
}

// boundOf returns the bound of a longest wait.
func boundOf(byDeadline bool) Bound {
	if byDeadline {
		return BoundDeadline
	}
	return BoundMaxWait
}
