package storetest_test

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// numberMistakes are wrong numbers in decisions.
var numberMistakes = []mistake{
	{"one remaining too few", "exactly Remaining units can be taken", after(func(_ store.Request, d *store.Decision) { d.Remaining = max(d.Remaining-1, 0) })},
	{"one remaining too many", "exactly Remaining units can be taken", after(func(_ store.Request, d *store.Decision) { d.Remaining = min(d.Remaining+1, d.Limit.Max()) })},
	{"loses a bit of some rates", "the first of n leaves n-1", after(func(_ store.Request, d *store.Decision) {
		if d.Limit.Rate%41 == 0 && d.Remaining > 0 {
			d.Remaining--
		}
	})},
	{"RetryAfter a microsecond short", "waiting exactly RetryAfter succeeds", retryAfter(func(d time.Duration) time.Duration { return d - time.Microsecond })},
	{"RetryAfter rounded down", "waiting exactly RetryAfter succeeds", retryAfter(func(d time.Duration) time.Duration { return max(d.Truncate(time.Millisecond), time.Microsecond) })},
	{"RetryAfter rounded up", "waiting exactly RetryAfter succeeds", retryAfter(func(d time.Duration) time.Duration {
		return (d + time.Millisecond - 1).Truncate(time.Millisecond)
	})},
	{"RetryAfter of a whole period", "waiting exactly RetryAfter succeeds", after(func(_ store.Request, d *store.Decision) {
		if d.Reason == store.ReasonLimited {
			d.RetryAfter = d.Limit.Period
		}
	})},
	{"delays a microsecond long", "no drift", after(func(_ store.Request, d *store.Decision) {
		if d.Delay > 0 {
			d.Delay += time.Microsecond
		}
	})},
	{"delays in nanoseconds", "every decision is sound", after(func(_ store.Request, d *store.Decision) {
		if d.Delay > 0 {
			d.Delay -= time.Nanosecond
		}
	})},
	{"ResetAfter too short", "exactly Remaining units can be taken", after(func(_ store.Request, d *store.Decision) { d.ResetAfter = (d.ResetAfter / 2).Round(time.Microsecond) })},
	{"ResetAfter too long", "exactly Remaining units can be taken", after(func(_ store.Request, d *store.Decision) {
		if d.ResetAfter > 0 {
			d.ResetAfter += time.Millisecond
		}
	})},
	{"forgets too early", "exactly Remaining units can be taken", func(s *model) store.Store {
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			d := next(req)
			if d.ResetAfter < time.Second { // A TTL in whole seconds, rounded down.
				_ = s.Reset(context.Background(), req.Charges[0].Scope, req.Charges[0].Key)
			}
			return d
		})(s)
	}},
	{"no burst but the rate", "vectors", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Limit.Burst = 0
		}
	})},
	{"counts in 32 bits", "extreme limits", before(func(req *store.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Cost, c.Limit.Rate = min(c.Cost, 1<<31-1), min(c.Limit.Rate, 1<<31-1)
		}
	})},
}

// retryAfter changes every finite RetryAfter.
func retryAfter(change func(time.Duration) time.Duration) func(*model) store.Store {
	return after(func(_ store.Request, d *store.Decision) {
		if d.Reason == store.ReasonLimited {
			d.RetryAfter = change(d.RetryAfter)
		}
	})
}
