package weir

import (
	"time"

	"github.com/goweir/weir/store"
)

// Algorithm says how a [Limit] counts. Its zero value is [GCRA].
//
// The maximum that any half-open interval as long as the period can admit, in
// units, is Burst + Rate for GCRA, Rate for SlidingWindow, and 2·Rate for the
// other three (SlidingCounter comes close to Rate under even traffic).
type Algorithm = store.Algorithm

// The algorithms. See [store.Algorithm] for how each counts.
const (
	GCRA           = store.GCRA
	SlidingWindow  = store.SlidingWindow
	SlidingCounter = store.SlidingCounter
	FixedWindow    = store.FixedWindow
	AlignedWindow  = store.AlignedWindow
)

// Limit is a rule: Rate units per Period, counted by Algorithm. It is a plain
// value; two limits with equal fields are the same limit.
type Limit struct {
	// Name is the policy's name in headers, metrics and errors: printable
	// ASCII, at most 64 bytes. Empty: derived from the rule, as "25-in-5s"
	// (see [Limit.Policy]).
	Name string
	// Rate is the number of units per Period: 1 to 2^50.
	Rate int64
	// Period is the time for Rate units, or the window's length: whole
	// microseconds from 1µs to 50 years.
	Period time.Duration
	// Burst is the number of units GCRA admits at once: 0 (meaning Rate) to 2^50, and
	// refilled within 50 years. It must be 0 for the window algorithms.
	Burst int64
	// Algorithm says how units are counted. The zero value is GCRA.
	Algorithm Algorithm
}

// Per returns the limit of n units per period, counted by GCRA with a burst of n.
// So one period can admit nearly 2n units: for calls to a provider see [Outbound].
// Per checks nothing: [Limit.Validate], [New] and every store do.
func Per(n int64, period time.Duration) Limit { return Limit{Rate: n, Period: period} }

// PerSecond returns [Per](n, time.Second): n units at once, 2n-1 at most in one second.
func PerSecond(n int64) Limit { return Per(n, time.Second) }

// PerMinute returns [Per](n, time.Minute): n units at once, 2n-1 at most in one minute.
func PerMinute(n int64) Limit { return Per(n, time.Minute) }

// PerHour returns [Per](n, time.Hour): n units at once, 2n-1 at most in one hour.
func PerHour(n int64) Limit { return Per(n, time.Hour) }

// PerDay returns [Per](n, 24*time.Hour): n units at once, 2n-1 at most in one day.
func PerDay(n int64) Limit { return Per(n, 24*time.Hour) }

// By returns the limit counted by another algorithm.
func (l Limit) By(a Algorithm) Limit { return Limit(store.Limit(l).By(a)) }

// WithBurst returns the limit with another burst.
func (l Limit) WithBurst(n int64) Limit { return Limit(store.Limit(l).WithBurst(n)) }

// WithName returns the limit with another policy name.
func (l Limit) WithName(name string) Limit { return Limit(store.Limit(l).WithName(name)) }

// Stretch returns the limit with its period longer by margin and its policy
// name unchanged. It widens the margin of an [Outbound] limit where times in
// flight vary more: by the difference between the slowest and the fastest one-way
// trip.
func (l Limit) Stretch(margin time.Duration) Limit {
	l.Name = l.Policy()
	l.Period += margin
	return l
}

// Max returns the maximum number of units of one call: the burst of a GCRA
// limit, the rate of a window. A larger cost never fits.
func (l Limit) Max() int64 { return store.Limit(l).Max() }

// Policy returns Name. When that is empty it returns the name derived from the
// rule: rate, "-in-" and the period, as "25-in-5s", "300-in-1m" or "1-in-365d".
func (l Limit) Policy() string { return store.Limit(l).Policy() }

// String returns the policy name.
func (l Limit) String() string { return l.Policy() }

// Validate reports the first field that is out of bounds, as a *[ConfigError].
func (l Limit) Validate() error { return store.Limit(l).Validate() }

// storeLimits returns a copy of limits for the store's side.
func storeLimits(limits []Limit) []store.Limit {
	own := make([]store.Limit, len(limits))
	for i, l := range limits {
		own[i] = store.Limit(l)
	}
	return own
}

// The margin of an Outbound limit: a part of the period within bounds.
const (
	marginPart = 25
	minMargin  = 50 * time.Millisecond
	maxMargin  = time.Second
)

// Outbound returns the limit for calls to a provider that allows n per period:
// "25 per 5 s" is Outbound(25, 5*time.Second). A provider with several limits gets
// one each, together in Config.Limits. Like [Per], Outbound checks nothing.
//
//	n per period                              the limit
//	1 per second or less, in up to a minute   evenly spaced: a call costs at most 1
//	any other                                 a sliding window: n calls leave at once
//
// weir counts departures, a provider counts arrivals. So the window, or the space
// between two calls, is longer by a margin: 4 %, at least 50 ms and at most 1 s. No
// call arrives too early if times in flight vary by less than the margin.
// [Limit.Stretch] adds to it.
//
// The provider may count in windows of any kind, or by a token bucket of n units. For
// a smaller bucket, or two weighted windows, see docs/outbound.md.
func Outbound(n int64, period time.Duration) Limit {
	l := Per(n, period)
	if n > 1 && n <= int64(period/time.Second) && period <= time.Minute {
		return Outbound(1, (period / time.Duration(n)).Truncate(time.Microsecond)).WithName(l.Policy())
	}
	return l.By(SlidingWindow).Stretch(margin(period))
}

// margin returns the margin of a window, in whole microseconds. A window that is too
// short to be valid gets none.
func margin(window time.Duration) time.Duration {
	if window < time.Microsecond {
		return 0
	}
	return min(max(window/marginPart, minMargin), maxMargin).Truncate(time.Microsecond)
}

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

// Decision is the outcome of one call. All times are durations from the instant
// of the decision, by the store's clock, rounded up to the microsecond.
type Decision struct {
	// Allowed: every limit admitted the call. Wait for Delay before acting.
	Allowed bool
	// Degraded: decided without the primary store.
	Degraded bool
	// OtherLimits: the key's units also count under limits that the call does not name,
	// for as long as those are remembered. A plan that changed causes that, and so do
	// programs with unlike limits under one Name. A degraded decision never says so.
	OtherLimits bool
	// Reason is ReasonAllowed, or why the call was refused.
	Reason Reason
	// Source says whether the store decided, or which part of this process did instead.
	Source store.Source
	// Delay is how long a granted reservation has to wait; 0: act now.
	Delay time.Duration
	// RetryAfter is set by a refusal: the same call succeeds after exactly this
	// long unless others take units. [store.Never] when no waiting helps. For ReasonInFlight
	// it is a bound: room comes earlier when calls end.
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
// of its units left for the next calls. Warn then, before calls are refused. It is false
// of a limit below 5 units, and of a Degraded decision, which sees one process's share.
func (d *Decision) Near() bool {
	most := d.Limit.Max()
	return d.Allowed && !d.Degraded && most >= 5 && d.Remaining <= most/5
}

// Charge returns the state of the i-th limit; the zero one when the
// decision has none.
func (d *Decision) Charge(i int) store.ChargeState {
	c := store.Decision{Reason: d.Reason, Charges: d.Charges, Remaining: d.Remaining, ResetAfter: d.ResetAfter, RetryAfter: d.RetryAfter}
	return c.Charge(i)
}

// decisionOf returns the callers' half of a store's decision.
func decisionOf(s *store.Decision) (d Decision) {
	d.from(s)
	return d
}

// from makes d, which is zero, the callers' half of a store's decision.
func (d *Decision) from(s *store.Decision) {
	d.Allowed, d.Degraded, d.OtherLimits, d.Reason, d.Source = s.Allowed, s.Degraded, s.OtherLimits, s.Reason, s.Source
	d.Delay, d.RetryAfter = s.Delay, s.RetryAfter
	d.Limit, d.Scope = Limit(s.Limit), s.Scope
	d.Remaining, d.ResetAfter, d.Charges = s.Remaining, s.ResetAfter, s.Charges
}

// set makes d, which is zero, the decision of the store's shorter way.
func (d *Decision) set(o *store.Outcome, source store.Source, limit Limit, scope string) {
	d.Reason = o.Reason()
	d.Allowed = d.Reason == store.ReasonAllowed
	d.RetryAfter = o.RetryAfter
	d.Source, d.Limit, d.Scope = source, limit, scope
	d.Remaining, d.ResetAfter = o.Remaining, o.ResetAfter
}
