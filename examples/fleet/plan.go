package main

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// full and low are the limits of every provider. The fleet is configured with full. It
// learns of low from responses alone.
var (
	full = weir.Per(40, 2*time.Second).By(weir.SlidingWindow)
	low  = weir.Per(16, 2*time.Second).By(weir.SlidingWindow)
)

// ours is the fleet's limit: the full one, spaced evenly to show changes best.
var ours = weir.Per(40, 2*time.Second).WithBurst(1).Stretch(margin)

const (
	workers = 3
	// callers is the number of goroutines per worker and provider.
	callers = 6
	length  = 18 * time.Second

	// margin lengthens the fleet's period beyond a provider's: the limiter counts
	// departures, and calls may arrive closer together.
	margin = 100 * time.Millisecond
	// grace is the time for calls under way to arrive after a change.
	grace = 100 * time.Millisecond
)

// plan is the behaviour of a provider.
type plan struct {
	name    string
	what    string // its dialect, for readers
	dialect dialects.Dialect
	form    weirtest.RetryAfterForm

	lowers, raises  time.Duration // when its limit changes
	refuses, closed time.Duration // the start and length of its refusals
}

var plans = []plan{
	{
		name: "one", what: "RateLimit and RateLimit-Policy of the IETF's draft 11; Retry-After in seconds",
		dialect: dialects.Draft11, form: weirtest.RetryAfterSeconds,
		lowers: 3 * time.Second, raises: 7 * time.Second, refuses: 10 * time.Second, closed: 3 * time.Second,
	},
	{
		name: "two", what: "X-RateLimit-* with resets since the Unix epoch; Retry-After with decimals",
		dialect: dialects.XRateLimitEpoch, form: weirtest.RetryAfterFraction,
		lowers: 3500 * time.Millisecond, raises: 7500 * time.Millisecond, refuses: 12 * time.Second, closed: 2 * time.Second,
	},
	{
		name: "three", what: "X-RateLimit-*-Requests with resets as durations; Retry-After-Ms",
		dialect: dialects.OpenAI, form: weirtest.RetryAfterMillis,
		lowers: 4 * time.Second, raises: 8 * time.Second, refuses: 14 * time.Second, closed: 1500 * time.Millisecond,
	},
}

// budget is the number of calls that the limits' rates allow in the run. A fleet that
// spaces its calls does not use the bursts.
func (p *plan) budget() int {
	rate := func(l weir.Limit, d time.Duration) float64 {
		return float64(l.Rate) * d.Seconds() / l.Period.Seconds()
	}
	lowered := p.raises - p.lowers
	return int(rate(full, length-lowered-p.closed) + rate(low, lowered))
}
