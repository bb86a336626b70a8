package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/flight"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// claim is a call's request for a lease.
type claim struct {
	flight.Claim
	bound
	limiter    *Limiter
	cancelable bool
}

// decide asks the store for units and a lease together, until the store grants the lease.
func (c *claim) decide(ctx context.Context, id line.ID) (d store.Decision, err error) {
	l := c.limiter
	try := func(ctx context.Context, leaseID string) (flight.Answer, time.Duration) {
		q := question{
			ID: id, cancelable: c.cancelable, silent: true, hold: store.Hold{Max: l.inFlight, ID: leaseID, Lease: l.lease},
		}
		if !c.Refuse {
			l.lines.Waits(c.start)
			q.maxWait = c.noteAsk()
		}
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
		if !c.waits {
			c.waits = true
			l.waiting.Add(1)
			l.events.decided(ctx, id, &d, Event{Kind: EventWaitBegin})
		}
	}
	late := func() { line.Linger(l.lines.HandBack(ctx, line.ID{Key: id.Key}, d.Receipt)) }
	answer, retryAfter, waitErr := l.flights.Ask(ctx, &c.Claim, c.maxEnd(), try, late)
	switch {
	case waitErr == flight.ErrMaxWait:
		d, err = l.refuse(store.ReasonInFlight, retryAfter), nil
	case waitErr != nil:
		return store.Decision{}, waitErr
	case answer == flight.Full && d.Reason != store.ReasonInFlight:
		d = l.refuse(store.ReasonInFlight, retryAfter) // The store was not asked.
	}
	if err == nil {
		l.events.decided(ctx, id, &d, Event{Kind: EventDecision})
	}
	return d, err
}
