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

// bound is the longest wait of a call.
type bound struct {
	start      time.Time
	maxWait    time.Duration // from start; 0: no bound
	end        time.Time     // by maxWait or by the context's deadline
	byDeadline bool
	waits      bool      // the call counts as waiting
	asked      time.Time // when the store was asked last
}

func newBound(ctx context.Context, maxWait time.Duration) bound {
	start := time.Now()
	longest, byDeadline := deadline.Max(ctx, start, maxWait)
	return bound{start: start, maxWait: maxWait, end: start.Add(longest), byDeadline: byDeadline}
}

// maxEnd returns the end by maxWait; the zero time if the deadline comes first.
func (b *bound) maxEnd() time.Time {
	if b.byDeadline {
		return time.Time{}
	}
	return b.end
}

// noteAsk notes a question to the store, and returns the rest of the wait.
func (b *bound) noteAsk() (rest time.Duration) {
	if b.asked = b.start; b.waits {
		b.asked = time.Now()
	}
	return max(b.end.Sub(b.asked), 0)
}

// grant is a slot that has come.
type grant struct {
	receipt   any           // gives it back
	at        store.Instant // when it came
	gap       time.Duration // advertised by an upstream; 0: none
	remaining int64
	charges   []store.ChargeState
	lease     *flight.Lease // nil: none
}

// waitingCall is a call that waits for a slot of one limiter.
type waitingCall struct {
	line.Call
	bound
	limiter *Limiter
	id      line.ID
	limits  []Limit
	claim   *flight.Claim  // nil: it needs no lease
	silent  bool           // the hook does not see it
	d       store.Decision // the last
	at      time.Time      // when d came, if the slot had not come with it
}

// ask makes the store decide. A call that books again has its lease already.
func (c *waitingCall) ask(ctx context.Context) (d store.Decision, err error) {
	if c.claim != nil && c.claim.Lease == nil {
		d, err = c.askForLease(ctx)
	} else if err = ctx.Err(); err == nil {
		err = c.limiter.take(ctx, &question{ID: c.id, maxWait: c.noteAsk(), cancelable: true, silent: c.silent}, c.limits, &d)
	}
	if err == nil {
		c.d = d
	}
	return d, err
}

// retake takes a slot over that another call has given up, without asking the store; nil: there
// is none.
func (c *waitingCall) retake(ctx context.Context) *line.Slot {
	if c.silent || ctx.Err() != nil || c.claim != nil && c.claim.Lease == nil {
		return nil
	}
	slot := c.Retake(c.end)
	if slot != nil {
		c.d = c.limiter.refuse(store.ReasonAllowed, 0)
		c.d.Allowed, c.d.Delay = true, time.Until(slot.At)
		c.limiter.events.decided(ctx, c.id, &c.d, Event{Kind: EventDecision})
		c.begin(ctx, &c.d)
	}
	return slot
}

// askForLease makes the store decide on units and a lease together. It waits for room.
func (c *waitingCall) askForLease(ctx context.Context) (d store.Decision, err error) {
	l := c.limiter
	try := func(ctx context.Context, leaseID string, next bool) (a flight.Answer, perhaps bool, retryAfter time.Duration) {
		q := question{ID: c.id, cancelable: true, silent: true, hold: store.Hold{Max: l.inFlight, ID: leaseID, Lease: l.lease, Next: next}}
		if !c.claim.Refuse {
			l.lines.Waits(c.start)
			q.maxWait = c.noteAsk()
		}
		err = l.take(ctx, &q, c.limits, &d)
		switch {
		case err != nil:
			return flight.Refused, !errors.Is(err, store.ErrConfig) && !errors.Is(err, store.ErrUnsupported), 0
		case d.Allowed:
			return flight.Granted, false, 0
		case d.Reason == store.ReasonInFlight:
			return flight.Full, d.Degraded, d.RetryAfter
		}
		return flight.Refused, d.Degraded, 0
	}
	waits := func() { c.begin(ctx, &d) }
	late := func() { line.Linger(l.lines.HandBack(ctx, line.ID{Key: c.id.Key}, d.Receipt)) }
	answer, retryAfter, waitErr := l.flights.Ask(ctx, c.claim, c.maxEnd(), waits, try, late)
	switch {
	case waitErr != nil && waitErr != flight.ErrMaxWait:
		return store.Decision{}, waitErr
	case answer == flight.Full && (waitErr != nil || d.Reason != store.ReasonInFlight):
		d = l.refuse(store.ReasonInFlight, retryAfter) // The store was not asked.
	}
	if err == nil {
		l.events.decided(ctx, c.id, &d, Event{Kind: EventDecision})
	}
	return d, err
}

// grant returns the slot of the last decision, and the lease.
func (c *waitingCall) grant() grant {
	g := grant{receipt: c.d.Receipt, at: c.d.At, gap: c.d.Gap, remaining: c.d.Remaining, charges: c.d.Charges}
	if c.claim != nil {
		g.lease = c.claim.Lease
	}
	return g
}

// refusal returns the error of a refusal.
func (c *waitingCall) refusal(d *store.Decision) error {
	return c.limiter.refusal(c.id, d, c.byDeadline, c.maxWait)
}

// begin counts the call as waiting, and shows that with the last decision. A call without
// a start does not count: it waits for leases on their way back alone.
func (c *waitingCall) begin(ctx context.Context, last *store.Decision) {
	if c.waits || c.start.IsZero() {
		return
	}
	c.waits = true
	c.limiter.waiting.Add(1)
	if !c.silent {
		c.limiter.events.decided(ctx, c.id, last, Event{Kind: EventWaitBegin})
	}
}

// observe shows the end of the wait, if the call waited.
func (c *waitingCall) observe(ctx context.Context, err error) {
	if !c.silent && c.waits {
		c.limiter.events.decided(ctx, c.id, &c.d, Event{Kind: EventWait, Took: time.Since(c.start), Err: err})
	}
}

// sleep waits for d, or until ctx ends, and reports a slow call.
func (c *waitingCall) sleep(ctx context.Context, d time.Duration) error {
	if rest := max(0, time.Until(c.start.Add(line.Patience))); rest < d {
		if err := deadline.Sleep(ctx, rest); err != nil {
			return err
		}
		c.limiter.lines.Waits(c.start)
		d -= rest
	}
	return deadline.Sleep(ctx, d)
}
