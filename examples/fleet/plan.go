package main

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// The limits of every provider: the one that the fleet knows of, and the one to
// which they are lowered without its being told but by their responses.
var (
	full = weir.Per(40, 2*time.Second).By(weir.SlidingWindow)
	low  = weir.Per(16, 2*time.Second).By(weir.SlidingWindow)
)

// ours is the limit of the fleet: the full one, spaced evenly, which shows best
// what changes.
var ours = weir.Per(40, 2*time.Second).WithBurst(1).Stretch(margin)

const (
	workers = 3
	// callers is how many goroutines of a worker call each provider.
	callers = 6
	length  = 18 * time.Second

	// margin is what the fleet's period is longer than a provider's: calls are
	// counted where they leave, and they may arrive closer together.
	margin = 100 * time.Millisecond
	// grace is what calls that are under way get to arrive after something
	// changed.
	grace = 100 * time.Millisecond
)

// plan is what a provider does.
type plan struct {
	name    string
	what    string // its dialect, for people
	dialect dialects.Dialect
	form    weirtest.RetryAfterForm

	lowers, raises  time.Duration // when its limit changes
	refuses, closed time.Duration // when it refuses, and for how long
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

// budget is how many calls the limits allow in the run, by their rates: what
// they admit at once beyond that is left alone by a fleet that spaces its calls.
func (p *plan) budget() int {
	rate := func(l weir.Limit, d time.Duration) float64 {
		return float64(l.Rate) * d.Seconds() / l.Period.Seconds()
	}
	lowered := p.raises - p.lowers
	return int(rate(full, length-lowered-p.closed) + rate(low, lowered))
}
