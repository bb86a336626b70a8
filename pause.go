package weir

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Pause keeps all processes that share the store from using key for d: calls are
// refused or wait until then. The pause that ends last wins; [Limiter.Resume] ends it.
// Config.MaxPause does not bound it. Pause returns ErrUnsupported when the store can't,
// and a *[ConfigError] when d is not above 0, or above MaxPeriod/4, 12.5 years.
//
// Waiting calls keep their slots, their order and their distances, in all processes: the
// first leaves when the pause ends. A call whose slot then comes too late for its MaxWait
// or deadline fails with a *[LimitedError]. A key without waiting calls may start with a
// burst: the burst of a GCRA limit, or the rate of a window.
func (l *Limiter) Pause(ctx context.Context, key string, d time.Duration) error {
	return l.PauseBy(ctx, key, d, byHand)
}

// PauseBy is [Limiter.Pause] for a program that pauses: its event has the By, a word fit for
// a metric's label. "penalty" is for a key that is blocked because of its calls, and
// "upstream" for one whose upstream asked for a pause.
func (l *Limiter) PauseBy(ctx context.Context, key string, d time.Duration, by string) error {
	if d <= 0 || d > store.MaxPeriod/4 {
		return &store.ConfigError{Field: "pause", Want: "more than 0, at most 12.5 years", Got: d.String()}
	}
	return l.brake(ctx, key, store.Brake{Pause: d}, by)
}

// Resume lifts a pause and a lower rate of key. Calls that wait for windows with a beginning may
// have to book again, behind the queue. Resume returns ErrUnsupported when the store can't.
func (l *Limiter) Resume(ctx context.Context, key string) error {
	return l.brake(ctx, key, store.Brake{Lift: true}, byHand)
}

// brake makes the store set a brake.
func (l *Limiter) brake(ctx context.Context, key string, b store.Brake, by string) error {
	id := line.ID{Key: key}
	if err := l.check(ctx, id, false); err != nil {
		return err
	}
	braker, ok := l.store.(store.Braker)
	if !ok {
		return fmt.Errorf("weir: pause or resume: %T does not implement store.Braker: %w", l.store, store.ErrUnsupported)
	}
	began := l.events.begin()
	err := braker.Brake(ctx, l.free(key), b)
	if err = l.events.end(ctx, "brake", id, began, store.SourceStore, err); err == nil {
		l.events.braked(ctx, id, &b, by)
	}
	return err
}

// Reset forgets the state of key, with its pause. It returns ErrUnsupported when
// the store can't.
//
// Waiting calls of key keep their slots, also if a pause has moved them far ahead. To
// bring these slots forward, call [Limiter.Resume] first.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	if err := l.checkKey(key); err != nil {
		return err
	}
	r, ok := l.store.(store.Resetter)
	if !ok {
		return fmt.Errorf("weir: reset: %T does not implement store.Resetter: %w", l.store, store.ErrUnsupported)
	}
	began := l.events.begin()
	return l.events.end(ctx, "reset", line.ID{Key: key}, began, store.SourceStore, r.Reset(ctx, l.name, key))
}
