package weir

import (
	"context"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Allow reports whether one unit of key may be used now, and takes it if so. A refusal
// is a Decision, not an error. An error is a failure of the store ([ErrStore]), a wrong
// key, or the end of ctx.
func (l *Limiter) Allow(ctx context.Context, key string) (d Decision, err error) {
	err = l.allow(ctx, key, 1, &d)
	return d, err
}

// AllowN is Allow for a cost. A cost of 0 looks without taking.
func (l *Limiter) AllowN(ctx context.Context, key string, cost int64) (d Decision, err error) {
	err = l.allow(ctx, key, cost, &d)
	return d, err
}

// AllowLimits is AllowN with other limits than the limiter's, for limits that depend on
// the call, such as those of a customer's plan. There is at least one, and no two have
// the same policy name, as in Config.Limits. A key's limits may change from call to
// call: the share already used carries over.
func (l *Limiter) AllowLimits(ctx context.Context, key string, cost int64, limits []Limit) (Decision, error) {
	if err := store.CheckLimits("limits", limits); err != nil {
		return Decision{}, err
	}
	var d store.Decision
	err := l.ask(ctx, &question{ID: line.ID{Key: key, Cost: cost}}, limits, &d)
	return decisionOf(&d), err
}

// Peek returns the state of key and takes nothing: Allowed is always true, and
// Remaining and ResetAfter are the state.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	var d store.Decision
	err := l.ask(ctx, &question{ID: line.ID{Key: key}}, l.limits, &d)
	return decisionOf(&d), err
}

// allow decides on units that are free now and are kept. It sets d, which was
// zero.
func (l *Limiter) allow(ctx context.Context, key string, cost int64, d *Decision) error {
	id := line.ID{Key: key, Cost: cost}
	switch o, done, err := l.takeFast(ctx, key, cost); {
	case err != nil:
		return l.events.storeError(ctx, "take", id, err)
	case done:
		d.set(&o, l.source, l.limits[0], l.name)
		l.events.fast(ctx, id, &o, l.source, l.limits[0])
		return nil
	}
	var decided store.Decision
	err := l.ask(ctx, &question{ID: id}, l.limits, &decided)
	d.from(&decided)
	return err
}
