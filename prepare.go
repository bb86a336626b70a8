package weir

import (
	"context"

	"github.com/goweir/weir/store"
)

// prepare has the store prepare for the limiter's limit, if there is just one.
func (l *Limiter) prepare() {
	if p, ok := l.cfg.Store.(store.Preparer); ok && len(l.cfg.Limits) == 1 && l.cfg.InFlight == 0 {
		l.prepared = p.Prepare(l.cfg.Store, l.cfg.Name, store.Limit(l.cfg.Limits[0]))
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
	if l.cfg.Hook != nil {
		l.observe(ctx, queueID{key, cost}, d)
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
		l.observe(ctx, queueID{key, cost}, &Decision{
			Allowed: true, Limit: l.cfg.Limits[0], Scope: l.cfg.Name, Remaining: o.Remaining, ResetAfter: o.ResetAfter,
		})
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
	var decided store.Decision
	err := l.decide(ctx, key, cost, l.cfg.Limits, 0, false, &decided)
	*d = decisionOf(&decided)
	return err
}
