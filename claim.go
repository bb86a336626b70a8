package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/flight"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// claim is a call's request for a lease.
type claim struct {
	flight.Claim
	limiter    *Limiter
	cancelable bool
	shown      bool      // the call counts as waiting already
	waits      bool      // it counts as waiting itself
	asked      time.Time // when it asked the store last
}

// decide asks the store for units and a lease together, until the store grants the lease.
// maxWait counts from start; 0: no bound. byDeadline: the deadline of ctx is before that.
func (c *claim) decide(ctx context.Context, id line.ID, start time.Time, maxWait time.Duration) (d store.Decision, byDeadline bool, err error) {
	l := c.limiter
	var end time.Time
	if maxWait > 0 {
		end = start.Add(maxWait)
	}
	try := func(ctx context.Context, leaseID string) (flight.Answer, time.Duration) {
		if c.Waited() {
			l.lines.Waits(start)
		}
		q := question{
			ID: id, cancelable: c.cancelable, silent: true, hold: store.Hold{Max: l.inFlight, ID: leaseID, Lease: l.lease},
		}
		if !c.Refuse && !line.InBackground(ctx) {
			rest := maxWait
			if maxWait > 0 {
				rest = max(time.Until(end), 1)
			}
			q.maxWait, byDeadline = deadline.Max(ctx, time.Now(), rest)
		}
		c.asked = time.Now()
		err = l.take(ctx, &q, l.limits, &d)
		switch {
		case err != nil && !errors.Is(err, store.ErrConfig) && !errors.Is(err, store.ErrUnsupported):
			return flight.Unknown, 0
		case d.Allowed:
			return flight.Granted, 0
		case d.Reason == store.ReasonInFlight:
			return flight.Full, d.RetryAfter
		}
		return flight.Refused, 0
	}
	c.Waits = func() {
		if !c.shown && !c.waits {
			l.waiting.Add(1)
			c.waits = true
			l.events.decided(ctx, id, &d, Event{Kind: EventWaitBegin})
		}
	}
	late := func() { line.Linger(l.lines.HandBack(ctx, line.ID{Key: id.Key}, d.Receipt)) }
	answer, retryAfter, waitErr := l.flights.Ask(ctx, &c.Claim, end, try, late)
	switch {
	case waitErr == flight.ErrMaxWait:
		d, byDeadline, err = l.refuse(store.ReasonInFlight, retryAfter), false, nil
	case waitErr != nil:
		return store.Decision{}, false, waitErr
	case answer == flight.Full && d.Reason != store.ReasonInFlight:
		d = l.refuse(store.ReasonInFlight, retryAfter) // The store was not asked.
	}
	if err == nil {
		l.events.decided(ctx, id, &d, Event{Kind: EventDecision})
	}
	return d, byDeadline, err
}
