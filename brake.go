package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// DefaultMaxPause is the Config.MaxPause of a Config that sets none.
const DefaultMaxPause = 15 * time.Minute

// Pause keeps everybody who shares the store from using key for d, at most
// Config.MaxPause: calls are refused or wait until then, and those that wait
// already wait on. Of several pauses the one that ends last counts;
// [Limiter.Resume] ends it. It returns ErrUnsupported when the store can't, and a
// *[ConfigError] when d is not above 0.
//
// Afterwards calls go on as the limits have it: what these admit at once, the
// burst of a GCRA limit or the rate of a window, leaves together, and the rest at
// their pace. Under GCRA with a burst of 1 ([Limit.WithBurst]) no two do. Calls of
// one process that waited before keep their order, those of several processes book
// again in the order in which they hear of the pause.
func (l *Limiter) Pause(ctx context.Context, key string, d time.Duration) error {
	if d <= 0 {
		return &ConfigError{Field: "pause", Want: "more than 0", Got: d.String()}
	}
	return l.brake(ctx, key, store.Brake{Pause: d})
}

// Resume lifts a pause, and all else that slows key down beyond its limits. It
// returns ErrUnsupported when the store can't.
func (l *Limiter) Resume(ctx context.Context, key string) error {
	return l.brake(ctx, key, store.Brake{Lift: true})
}

// brake caps what is asked for and has the store set it.
func (l *Limiter) brake(ctx context.Context, key string, b store.Brake) error {
	braker, ok := l.cfg.Store.(store.Braker)
	if !ok {
		return ErrUnsupported
	}
	if err := l.check(ctx, key, 0); err != nil {
		return err
	}
	b.Pause = min(b.Pause, l.cfg.MaxPause)
	b.Slack = min(b.Slack, l.cfg.MaxPause-b.Pause)
	b.GapFor = min(b.GapFor, l.cfg.MaxPause)
	b.Gap = min(b.Gap, l.cfg.MaxPause)
	return l.storeError(ctx, "brake", key, 0, braker.Brake(ctx, l.charges(key), b))
}

// charges returns charges of the limiter's limits that cost nothing.
func (l *Limiter) charges(key string) []store.Charge {
	charges := make([]store.Charge, len(l.cfg.Limits))
	for i := range charges {
		charges[i] = store.Charge{Scope: l.cfg.Name, Key: key, Limit: store.Limit(l.cfg.Limits[i])}
	}
	return charges
}
