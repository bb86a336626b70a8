package weir

import (
	"context"
	"math"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Pause keeps all processes that share the store from using key for d, at most
// Config.MaxPause: calls are refused or wait until then, and those that wait
// already wait on. Of several pauses the one that ends last counts;
// [Limiter.Resume] ends it. It returns ErrUnsupported when the store can't, and a
// *[ConfigError] when d is not above 0.
//
// Afterwards calls go on as the limits have it: the burst of a GCRA limit or the
// rate of a window leaves together, and the rest at the limits' pace. Under GCRA with a burst of 1 ([Limit.WithBurst]) no two do. Calls of
// one process that waited before keep their order, those of several processes book
// again in the order in which they hear of the pause.
func (l *Limiter) Pause(ctx context.Context, key string, d time.Duration) error {
	if d <= 0 {
		return &store.ConfigError{Field: "pause", Want: "more than 0", Got: d.String()}
	}
	return l.brake(ctx, key, store.Brake{Pause: d})
}

// Resume lifts a pause, and all else that slows key down beyond its limits. It
// returns ErrUnsupported when the store can't.
func (l *Limiter) Resume(ctx context.Context, key string) error {
	return l.brake(ctx, key, store.Brake{Lift: true})
}

// MaxPause returns the longest that [Limiter.Pause] pauses a key for; 0 when
// the store is no [store.Braker]. A redisstore without scripts is one, though its
// Pause fails with ErrUnsupported.
func (l *Limiter) MaxPause() time.Duration {
	if _, ok := l.store.(store.Braker); !ok {
		return 0
	}
	return l.maxPause
}

// brake caps a brake and has the store set it.
func (l *Limiter) brake(ctx context.Context, key string, b store.Brake) error {
	braker, ok := l.store.(store.Braker)
	if !ok {
		return store.ErrUnsupported
	}
	id := line.ID{Key: key}
	if err := l.check(ctx, id); err != nil {
		return err
	}
	b.Pause = min(b.Pause, l.maxPause)
	b.Slack = min(b.Slack, l.maxPause-b.Pause)
	b.GapFor = min(b.GapFor, l.maxPause)
	b.Gap = min(b.Gap, l.maxPause)
	return l.storeError(ctx, "brake", id, braker.Brake(ctx, l.free(key), b))
}

// Reset forgets the state of key, with its pause. It returns ErrUnsupported when
// the store can't.
//
// Calls of this Limiter that wait for key book again, at a [store.Braker]. Calls
// that wait elsewhere keep their slots, as far away as a pause has put them. To
// free those as well, call [Limiter.Resume] first.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	r, ok := l.store.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	if err := l.checkKey(key); err != nil {
		return err
	}
	err := l.storeError(ctx, "reset", line.ID{Key: key}, r.Reset(ctx, l.name, key))
	if _, brakes := l.store.(store.Braker); brakes && err == nil {
		l.lines.Void(key, math.MaxInt64) // The store forgot all slots.
	}
	return err
}
