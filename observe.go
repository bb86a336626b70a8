package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// observer shows events of a limiter to a hook. Without a hook it shows nothing.
type observer struct {
	name string
	hook Hook
}

// show shows an event about a key.
func (o *observer) show(ctx context.Context, id line.ID, e *Event) {
	e.Scope, e.Key, e.Cost = o.name, id.Key, id.Cost
	defer contain(o.name, e.Kind)
	o.hook.Observe(ctx, *e)
}

// fast shows an outcome of the store's shorter way under a limit.
func (o *observer) fast(ctx context.Context, id line.ID, out *store.Outcome, source Source, limit Limit) {
	if o.hook != nil {
		e := Event{Kind: EventDecision}
		e.Decision.set(out, source, limit, o.name)
		o.show(ctx, id, &e)
	}
}

// decision shows a decision that no call of the store made, or whose call is shown.
func (o *observer) decision(ctx context.Context, id line.ID, d *store.Decision) {
	if o.hook != nil {
		e := Event{Kind: EventDecision}
		e.Decision.from(d)
		o.show(ctx, id, &e)
	}
}

// taken shows a decision and the call of the store that made it.
func (o *observer) taken(ctx context.Context, id line.ID, began time.Duration, d *store.Decision) {
	if o.hook != nil {
		e := Event{Kind: EventDecision, Op: "take", Took: time.Since(epoch) - began}
		e.Decision.from(d)
		o.show(ctx, id, &e)
	}
}

// waitBegins shows the beginning of a wait.
func (o *observer) waitBegins(ctx context.Context, id line.ID, d *store.Decision) {
	if o.hook != nil {
		e := Event{Kind: EventWaitBegin}
		e.Decision.from(d)
		o.show(ctx, id, &e)
	}
}

// waitEnds shows the end of a wait.
func (o *observer) waitEnds(ctx context.Context, id line.ID, d *store.Decision, start time.Time, err error) {
	if o.hook != nil {
		e := Event{Kind: EventWait, Wait: time.Since(start), Err: err}
		e.Decision.from(d)
		o.show(ctx, id, &e)
	}
}

// lost shows the loss of a lease.
func (o *observer) lost(key string) {
	if o.hook != nil {
		o.show(context.Background(), line.ID{Key: key}, &Event{Kind: EventLeaseLost})
	}
}

// braked shows each part of a brake.
func (o *observer) braked(ctx context.Context, id line.ID, b *store.Brake, by By) {
	if o.hook == nil {
		return
	}
	if b.Lift {
		o.show(ctx, id, &Event{Kind: EventLifted, By: by})
		return
	}
	if b.Pause > 0 {
		o.show(ctx, id, &Event{Kind: EventPaused, By: by, Pause: b.Pause})
	}
	switch slower := b.Cut.Unit > 0 || b.Tell && b.Gap > 0; {
	case slower:
		o.show(ctx, id, &Event{Kind: EventSlowed, By: by})
	case b.Tell:
		o.show(ctx, id, &Event{Kind: EventLifted, By: by})
	}
}

// settled shows the real cost of a call.
func (o *observer) settled(ctx context.Context, id line.ID, actual int64) {
	if o.hook != nil {
		o.show(ctx, id, &Event{Kind: EventSettled, Actual: actual})
	}
}

// refused shows an upstream's refusal. A pause of 0: it said no time.
func (o *observer) refused(ctx context.Context, id line.ID, status int, pause time.Duration) {
	if o.hook != nil {
		id.Cost = 0
		o.show(ctx, id, &Event{Kind: EventRefusal, Status: status, Pause: pause})
	}
}

// budgets shows the budgets of a response.
func (o *observer) budgets(ctx context.Context, id line.ID, list []upstream.Budget) {
	if o.hook == nil {
		return
	}
	id.Cost = 0
	for i := range list {
		b := &list[i]
		o.show(ctx, id, &Event{Kind: EventBudget, Budget: b.Name, Limit: b.Limit, Remaining: b.Remaining})
	}
}

// epoch is where times of begin count from. A time since then takes one reading of the
// monotonic clock; time.Now reads the wall clock too, which takes 15 ns more.
var epoch = time.Now()

// begin returns the time at which a call of the store begins. Without a hook it reads
// no clock.
func (o *observer) begin() (began time.Duration) {
	if o.hook != nil {
		began = time.Since(epoch)
	}
	return began
}

// end ends a call of the store, which a source decided. It returns the caller's error.
func (o *observer) end(ctx context.Context, op string, id line.ID, began time.Duration, source store.Source, err error) error {
	if o.hook == nil {
		return o.storeError(ctx, op, id, err)
	}
	e := Event{Kind: EventStoreCall, Op: op, Took: time.Since(epoch) - began}
	e.Decision.Source = source
	e.Err = o.storeError(ctx, op, id, err)
	o.show(ctx, id, &e)
	return e.Err
}

// storeError turns the store's error into the caller's: the end of its context, a
// mistake in its request, or a *StoreError, which the hook sees.
func (o *observer) storeError(ctx context.Context, op string, id line.ID, err error) error {
	if err == nil {
		return nil
	}
	if ended := deadline.Ended(ctx); ended != nil {
		return ended
	}
	if errors.Is(err, store.ErrConfig) || errors.Is(err, store.ErrUnsupported) {
		return err
	}
	err = &StoreError{Op: op, Err: err}
	if o.hook != nil {
		o.show(ctx, id, &Event{Kind: EventStoreError, Err: err})
	}
	return err
}

// detached asks the store for a call whose context is over.
func (o *observer) detached(ctx context.Context, op string, id line.ID, f func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	timed, stop := context.WithTimeout(ctx, line.GiveBackTimeout)
	defer stop()
	began := o.begin()
	return o.end(ctx, op, id, began, store.SourceStore, f(timed))
}
