package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// begin returns the time at which a call of the store begins. Without a hook it reads
// no clock.
func (o *observer) begin() (began time.Time) {
	if o.hook != nil {
		began = time.Now()
	}
	return began
}

// end ends a call of the store, which a source decided. It returns the caller's error.
func (o *observer) end(ctx context.Context, op string, id line.ID, began time.Time, source store.Source, err error) error {
	if o.hook == nil {
		return o.storeError(ctx, op, id, err)
	}
	e := Event{Kind: EventStoreCall, Op: op, Took: time.Since(began)}
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
