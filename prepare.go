package weir

import (
	"context"
	"time"
)

// Preparer is a Store that has a shorter way for what is asked most: one unit or
// more of a key, under one limit that is known in advance, now or not at all.
type Preparer interface {
	// Prepare returns what decides calls with keys of a scope, under a valid
	// limit. of is the store that the caller would ask otherwise: nil is returned
	// when it is not this one but something around it, which has a say in what is
	// decided and would be passed by.
	Prepare(of Store, scope string, limit Limit) Prepared
}

// Prepared is a Store's shorter way. It is safe for concurrent use.
type Prepared interface {
	// Take is Store.Take for a request with a charge of cost units of key and
	// nothing else. It may leave a request to the Store, and reports false then:
	// nothing was charged. It asks nobody but this process's memory, so that it
	// takes no context.
	Take(key string, cost int64) (o Outcome, done bool, err error)
}

// Outcome is a Decision on one charge, without what the caller knows and what is
// zero where a Prepared decides.
type Outcome struct {
	// RetryAfter is 0 when the charge was made. [Never]: the Reason is NeverFits;
	// anything else: it is Limited.
	RetryAfter time.Duration
	Remaining  int64
	ResetAfter time.Duration
	At         Instant
}

// Reason returns Allowed, Limited or NeverFits.
func (o Outcome) Reason() Reason {
	switch o.RetryAfter {
	case 0:
		return Allowed
	case Never:
		return NeverFits
	}
	return Limited
}

// prepare has the store prepare for the limiter's limit, if there is just one.
func (l *Limiter) prepare() {
	if p, ok := l.cfg.Store.(Preparer); ok && len(l.cfg.Limits) == 1 && l.cfg.InFlight == 0 {
		l.prepared = p.Prepare(l.cfg.Store, l.cfg.Name, l.cfg.Limits[0])
	}
}

// takeNow is take for units that are free now, under the limiter's limits, to be
// kept. It sets d, which was zero.
func (l *Limiter) takeNow(ctx context.Context, key string, cost int64, d *Decision) error {
	if l.prepared == nil || cost < 0 || key == "" || inBackground(ctx) {
		return l.takeKept(ctx, key, cost, d)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o, done, err := l.prepared.Take(key, cost)
	if !done {
		return l.takeKept(ctx, key, cost, d)
	}
	if err != nil {
		return l.storeError(ctx, "take", key, cost, err)
	}
	d.Reason = o.Reason()
	d.Allowed = d.Reason == Allowed
	d.RetryAfter = o.RetryAfter
	d.Limit, d.Scope = l.cfg.Limits[0], l.cfg.Name
	d.Remaining, d.ResetAfter = o.Remaining, o.ResetAfter
	d.At = o.At
	if l.cfg.Hook != nil {
		l.observeDecision(ctx, queueID{key, cost}, *d)
	}
	return nil
}

// slotNow is waitSlot, in the shorter way, for a slot that is now and will not be
// given back: there is no receipt. It sets g, which was zero, if it is not
// nil. It reports false, and has taken nothing, when the call has to wait, or in
// the other way.
func (l *Limiter) slotNow(ctx context.Context, key string, cost int64, g *grant) (ok bool, err error) {
	if l.prepared == nil || cost <= 0 || key == "" || l.cfg.MaxWaiters > 0 || inBackground(ctx) {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !l.waits.idle(key) {
		return false, nil
	}
	// Only what is free is taken here: a refusal is for the other way to tell of.
	o, done, err := l.prepared.Take(key, cost)
	if !done || err != nil || o.RetryAfter > 0 {
		return false, nil
	}
	if l.cfg.Hook != nil {
		d := Decision{Allowed: true, Limit: l.cfg.Limits[0], Scope: l.cfg.Name, Remaining: o.Remaining, ResetAfter: o.ResetAfter, At: o.At}
		l.observeDecision(ctx, queueID{key, cost}, d)
	}
	if g != nil {
		g.at, g.remaining = o.At, o.Remaining
	}
	return true, nil
}

// takeKept is takeNow by the Store.
func (l *Limiter) takeKept(ctx context.Context, key string, cost int64, d *Decision) error {
	if err := l.checkTake(ctx, key, cost); err != nil {
		return err
	}
	return l.decide(ctx, key, cost, l.cfg.Limits, 0, false, d)
}
