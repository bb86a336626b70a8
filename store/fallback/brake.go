package fallback

import (
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// Brake implements [store.Braker]. While the primary is away, the brake slows the key
// down in this process alone. The primary gets the rest of it on its return.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	primary, ok := s.cfg.Primary.(store.Braker)
	if !ok {
		return store.ErrUnsupported
	}
	if err := keys.CheckBrake(charges, &b); err != nil {
		return err
	}
	charges = slices.Clone(charges)
	if s.breaker.Closed() {
		err := s.within(ctx, func(ctx context.Context) error { return primary.Brake(ctx, charges, b) })
		if outage(err) == nil || ctx.Err() != nil {
			if err == nil {
				s.brakeLocal(ctx, charges, b)
			}
			return err
		}
	}
	s.brakes.Keep(charges, b)
	s.brakeLocal(ctx, charges, b)
	return nil
}

// brakeLocal brakes a key in the local store, which has this process's share of the rate.
func (s *Store) brakeLocal(ctx context.Context, charges []store.Charge, b store.Brake) {
	n := s.cfg.replicas()
	_ = s.local.Brake(ctx, share.Charges(charges, n), share.Brake(b, n))
}

// deliver passes the pending brakes to the primary after its return. If the primary is
// gone again, the rest waits for its next return.
func (s *Store) deliver() {
	primary, _ := s.cfg.Primary.(store.Braker) // Of any other no brake is pending.
	s.brakes.Deliver(func(charges []store.Charge, b store.Brake) error {
		return outage(s.within(context.Background(), func(ctx context.Context) error { return primary.Brake(ctx, charges, b) }))
	})
}

// heed copies a pause in the primary's answer to the local store.
func (s *Store) heed(charges []store.Charge, d *store.Decision) {
	if d.Reason != store.ReasonPaused || d.RetryAfter <= 0 {
		return
	}
	s.brakeLocal(context.Background(), keys.Pick(charges, charges, binding(charges, d)), store.Brake{Pause: min(d.RetryAfter, store.MaxPeriod/4)})
}

// binding returns the place of the charge with the binding limit; 0: it is not known.
func binding(charges []store.Charge, d *store.Decision) int {
	return max(0, slices.IndexFunc(charges, func(c store.Charge) bool { return c.Scope == d.Scope && c.Limit == d.Limit }))
}

// watch is a subscription to both stores.
type watch []store.Watch

// WatchBrakes implements [store.Braker]. If this process alone knows of a brake, the
// local store's clock applies, also to slots from the primary: both clocks count from the
// Unix epoch.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	primary, ok := s.cfg.Primary.(store.Braker)
	if !ok {
		return watch{} // Brake sets none.
	}
	return watch{primary.WatchBrakes(f), s.local.WatchBrakes(func(scope, key string, c store.Clock) {
		if s.brakes.Has(keys.Key{Scope: scope, Key: key}) {
			f(scope, key, standing(c))
		}
	})}
}

// Covers implements [store.Watch].
func (w watch) Covers(since time.Time) bool {
	return !slices.ContainsFunc(w, func(of store.Watch) bool { return !of.Covers(since) })
}

// Stop implements [store.Watch].
func (w watch) Stop() {
	for _, of := range w {
		of.Stop()
	}
}
