package weir

import (
	"context"
	"math"
	"time"

	"github.com/goweir/weir/internal/flight"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Wait blocks until one unit of key may be used: it books the next slot in one
// call of the store and sleeps until then. Calls of one process with the same
// key and cost go in the order in which they arrived, and share one timer.
//
// It fails at once, and takes nothing, with a *[LimitedError] when the slot
// lies past MaxWait or the deadline of ctx, or when MaxWaiters calls wait
// already. When ctx ends first, Wait gives the slot back and returns the
// context's error: calls behind it move up. A store that takes longer
// than 20 ms for that finishes in the background, and meanwhile the next
// call of the same key and cost takes the slot over.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	return l.WaitN(ctx, key, 1)
}

// WaitN is Wait for a cost.
func (l *Limiter) WaitN(ctx context.Context, key string, cost int64) error {
	id := line.ID{Key: key, Cost: cost}
	if l.slotNow(ctx, id, nil) {
		return nil
	}
	_, err := l.waitSlot(ctx, id, l.maxWait, false)
	return err
}

// slotNow takes a slot that is now, in the store's shorter way. It has no receipt.
// It sets g, which was zero, unless that is nil. It reports false, and has taken
// nothing, when the call has to wait or to ask the Store.
func (l *Limiter) slotNow(ctx context.Context, id line.ID, g *grant) bool {
	if l.prepared == nil || id.Cost <= 0 || l.maxWaiters > 0 || !l.lines.Idle(id.Key) {
		return false
	}
	// A refusal and an error are left to the Store.
	o, done, err := l.takeFast(ctx, id.Key, id.Cost)
	if !done || err != nil || o.RetryAfter > 0 {
		return false
	}
	l.decidedFast(ctx, id, &o)
	if g != nil {
		g.at, g.remaining = o.At, o.Remaining
	}
	return true
}

// takeSlot takes a slot that is now, and with Config.InFlight a lease.
func (l *Limiter) takeSlot(ctx context.Context, id line.ID, cancelable bool) (grant, error) {
	err := l.checkFit(ctx, id, true)
	c := waitingCall{limiter: l, id: id, limits: l.limits}
	switch {
	case err != nil:
	case l.flights == nil:
		err = l.take(ctx, &question{ID: id, cancelable: cancelable}, l.limits, &c.d)
	default:
		c.claim, c.end = &flight.Claim{Key: id.Key, Arrival: math.MaxUint64, Refuse: true}, time.Now().Add(line.Grace)
		c.d, err = c.askForLease(ctx)
	}
	if err == nil && !c.d.Allowed {
		err = l.refusal(id, &c.d, false, 0)
	}
	return c.grant(), err
}

// waitSlot waits for a slot. A leased call waits for a lease too, with Config.InFlight.
func (l *Limiter) waitSlot(ctx context.Context, id line.ID, maxWait time.Duration, leased bool) (grant, error) {
	if err := l.checkFit(ctx, id, leased); err != nil {
		return grant{}, err
	}
	bound := newBound(ctx, maxWait)
	call, ok := l.lines.Enter(id, bound.start)
	if !ok {
		return grant{}, l.turnAway(ctx, id, l.refuse(store.ReasonTooManyWaiters, 0))
	}
	c := waitingCall{Call: call, bound: bound, limiter: l, id: id, limits: l.limits}
	if leased && l.flights != nil {
		c.claim = &flight.Claim{Key: id.Key, Arrival: call.Arrival}
	}
	return c.wait(ctx)
}

// wait waits for the slot.
func (c *waitingCall) wait(ctx context.Context) (g grant, err error) {
	granted := false
	defer func() { // The store may panic.
		c.Exit()
		if c.waits {
			c.limiter.waiting.Add(-1)
		}
		if !granted && c.claim != nil {
			c.claim.Lease.Release()
		}
	}()
	if line.InBackground(ctx) {
		g, err = c.waitInBackground(ctx)
		c.observe(ctx, err)
	} else {
		for again := true; again; {
			g, again, err = c.book(ctx)
		}
	}
	granted = err == nil
	return g, err
}

// book books a slot and waits for it. Again: see [line.Call.Wait].
func (c *waitingCall) book(ctx context.Context) (g grant, again bool, err error) {
	if slot := c.retake(ctx); slot != nil {
		return c.goIn(ctx, slot)
	}
	l := c.limiter
	d, err := c.ask(ctx)
	if err == nil && !d.Allowed {
		err = c.refusal(&d)
	}
	if err != nil {
		c.observe(ctx, err)
		return grant{}, false, err
	}
	answered, rules := time.Now(), l.stored(c.limits)
	c.Took = answered.Sub(c.asked)
	if d.Delay <= 0 && ctx.Err() == nil && c.Goes(rules, answered) {
		c.observe(ctx, nil)
		return c.grant(), false, nil
	}
	c.begin(ctx, &d)
	c.at = answered
	slot := line.Granted(&d, rules, c.asked, c.at)
	if err = refuseLate(ctx, &d, c.at); err == nil && !d.Allowed {
		err = l.refusal(c.id, &d, true, 0)
	}
	if err != nil {
		back := l.lines.Surrender(ctx, c.id, slot)
		c.observe(ctx, err)
		line.Linger(back)
		return grant{}, false, err
	}
	return c.goIn(ctx, slot)
}

// goIn waits for a slot.
func (c *waitingCall) goIn(ctx context.Context, slot *line.Slot) (g grant, again bool, err error) {
	used, again, err := c.Wait(ctx, slot, c.end)
	if again {
		return grant{}, true, nil
	}
	if err == line.ErrLate {
		d := c.d
		d.Reason, d.RetryAfter = store.ReasonLimited, c.Excess
		err = c.refusal(&d)
	}
	c.observe(ctx, err)
	if err != nil {
		c.Linger()
		return grant{}, false, err
	}
	g = c.grant()
	if g.receipt, g.at = used.Receipt, used.Comes; used.Clock != nil {
		g.gap = used.Clock.Gap(g.at)
	}
	return g, false, nil
}

// InBackground returns a context whose calls are of the background class: they get the
// units that other calls leave. A background call takes units that are free now, and
// only while no call waits for slots. It never books ahead, so no later call of the other
// class waits behind it. It leaves a share to the others: see Config.Reserve.
//
// Waiting background calls of one process form a line in the order of their arrival.
// The first in line asks the store again when there may be room. It fails with a
// *[LimitedError] as soon as it is clear that MaxWait or its deadline comes before it
// would ask again. The calls behind it wait until then: after MaxWait they fail with a
// *[LimitedError], at the deadline with the context's error.
func InBackground(ctx context.Context) context.Context {
	return line.WithBackground(ctx)
}

// waitInBackground waits for the call's turn to ask, and then for free units.
func (c *waitingCall) waitInBackground(ctx context.Context) (grant, error) {
	l, key := c.limiter, c.id.Key
	turns := l.background.Enter(key)
	defer turns.Exit()
	if turns.Take(ctx, c.maxEnd(), func() { c.begin(ctx, &c.d) }) != nil {
		if c.d = turns.Refusal(); c.d.Reason == store.ReasonAllowed {
			c.d = l.refuse(store.ReasonLimited, c.d.RetryAfter)
		}
		if ctx.Err() == nil {
			return grant{}, c.refusal(&c.d)
		}
		return grant{}, ctx.Err()
	}
	defer turns.Pass()
	for {
		d, err := c.ask(ctx)
		if err != nil {
			return grant{}, err
		}
		switch {
		case d.Allowed:
			return c.grant(), nil
		case d.Reason != store.ReasonLimited && d.Reason != store.ReasonPaused:
			return grant{}, c.refusal(&d)
		}
		turns.Refused(&d)
		d.RetryAfter += backgroundDelay(&d.Limit)
		rest := max(d.RetryAfter, time.Millisecond)
		// At the deadline it is too late to ask, but not when MaxWait ends.
		if left := time.Until(c.end); rest > left || rest == left && c.byDeadline {
			return grant{}, c.refusal(&d)
		}
		c.begin(ctx, &d)
		if err := c.sleep(ctx, rest); err != nil {
			return grant{}, err
		}
	}
}

// backgroundDelay is how long a background call waits after units are free again.
// Those of a window are free all at once, and calls that waited for the first of
// them may want the rest.
func backgroundDelay(l *store.Limit) time.Duration {
	if l.Algorithm == store.GCRA {
		return 0
	}
	return min(5*time.Millisecond, l.Period/100)
}
