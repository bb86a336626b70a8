package fallback

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// mostBrakes is the maximum number of keys with brakes for the primary. Further brakes
// stay local.
const mostBrakes = 4096

// brakes are those that the primary does not know yet.
type brakes struct {
	mu      sync.Mutex
	pending map[id]pendingBrake
	some    atomic.Bool // pending is not empty
}

type pendingBrake struct {
	charges []store.Charge
	brake   store.Brake
	at      time.Time
	lifted  bool // a Lift came before this brake
}

// Brake implements [store.Braker]. While the primary is away, the brake slows the key
// down in this process alone. The primary gets the rest of it on its return.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	primary, ok := s.cfg.Primary.(store.Braker)
	if !ok {
		return store.ErrUnsupported
	}
	if err := (store.Request{Charges: charges}).Validate(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !oneKey(charges) {
		return &store.ConfigError{Field: "charges", Want: "charges of one key", Got: "several keys"}
	}
	charges = append([]store.Charge(nil), charges...)
	if s.breaker.isClosed() {
		err := s.within(ctx, func(ctx context.Context) error { return primary.Brake(ctx, charges, b) })
		if !outage(err) || ctx.Err() != nil {
			if err == nil {
				s.brakeLocal(ctx, charges, b)
			}
			return err
		}
	}
	s.brakes.keep(charges, b)
	s.brakeLocal(ctx, charges, b)
	return nil
}

// brakeLocal brakes a key in the local store, which has this process's share of the rate:
// gaps grow by the number of processes.
func (s *Store) brakeLocal(ctx context.Context, charges []store.Charge, b store.Brake) {
	local, ok := s.cfg.Local.(store.Braker)
	if !ok {
		return
	}
	n := s.cfg.ReplicasFunc()
	b.Gap = times(b.Gap, int64(max(n, 1)), 1)
	b.Cut.Unit = times(b.Cut.Unit, int64(max(n, 1)), 1)
	b.Gap, b.Cut.Unit = min(b.Gap, store.MaxPeriod/4), min(b.Cut.Unit, store.MaxPeriod/4)
	_ = local.Brake(ctx, share(charges, n), b)
}

// keep remembers a brake for the primary. The pause that ends last wins; of all else the
// latest wins.
func (k *brakes) keep(charges []store.Charge, b store.Brake) {
	key, now := id{charges[0].Scope, charges[0].Key}, time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old, ok := k.pending[key]
	if ok && !b.Lift {
		b = joined(old.brake, b, now.Sub(old.at))
	}
	if !ok && len(k.pending) >= mostBrakes {
		return
	}
	if k.pending == nil {
		k.pending = make(map[id]pendingBrake)
	}
	k.pending[key] = pendingBrake{charges, b, now, b.Lift || old.lifted}
	k.some.Store(true)
}

// keeps reports whether the primary does not know a key's brake yet.
func (k *brakes) keeps(key id) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.pending[key]
	return ok
}

// joined combines a brake with an earlier one.
func joined(old, b store.Brake, since time.Duration) store.Brake {
	if left := old.Pause - since; left > b.Pause {
		b.Pause, b.Slack = left, 0
	}
	if !b.Tell && old.Tell {
		b.Tell, b.Gap, b.GapFor = true, old.Gap, max(old.GapFor-since, 0)
	}
	if b.Cut.Unit == 0 {
		b.Cut = old.Cut
	}
	return b
}

// deliver passes the pending brakes to the primary after its return. If the primary is
// gone again, the rest waits for its next return.
func (s *Store) deliver() {
	primary, ok := s.cfg.Primary.(store.Braker)
	if !ok {
		return
	}
	s.brakes.mu.Lock()
	pending := s.brakes.pending
	s.brakes.pending = nil
	s.brakes.some.Store(false)
	s.brakes.mu.Unlock()
	for key, p := range pending {
		since := time.Since(p.at)
		p.brake.Pause = max(p.brake.Pause-since, 0)
		p.brake.GapFor = max(p.brake.GapFor-since, 0)
		todo := []store.Brake{p.brake}
		if p.lifted && !p.brake.Lift {
			todo = []store.Brake{{Lift: true}, p.brake}
		}
		for _, b := range todo {
			if err := s.within(context.Background(), func(ctx context.Context) error { return primary.Brake(ctx, p.charges, b) }); outage(err) {
				s.brakes.restore(pending)
				return
			}
		}
		delete(pending, key)
	}
}

// restore puts undelivered brakes back, except for keys with a newer brake.
func (k *brakes) restore(pending map[id]pendingBrake) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, p := range k.pending {
		pending[key] = p
	}
	k.pending = pending
	k.some.Store(true)
}

// heed copies a pause in the primary's answer to the local store.
func (s *Store) heed(a *attempt) {
	if a.d.Reason == store.ReasonPaused && a.d.RetryAfter > 0 {
		s.brakeLocal(context.Background(), binding(a.req.Charges, &a.d), store.Brake{Pause: min(a.d.RetryAfter, store.MaxPeriod/4)})
	}
}

// binding returns the charges of the key with the decision's binding limit.
func binding(charges []store.Charge, d *store.Decision) (mine []store.Charge) {
	if oneKey(charges) {
		return charges
	}
	first := 0
	for i := range charges {
		if charges[i].Scope == d.Scope && charges[i].Limit == d.Limit {
			first = i
			break
		}
	}
	for i := range charges {
		if charges[i].Scope == charges[first].Scope && charges[i].Key == charges[first].Key {
			mine = append(mine, charges[i])
		}
	}
	return mine
}

// watch is a subscription to both stores.
type watch []store.Watch

// WatchBrakes implements [store.Braker]. If this process alone knows of a brake, the
// local store's clock applies, also to slots from the primary: both clocks count from the
// Unix epoch.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	var w watch
	if primary, ok := s.cfg.Primary.(store.Braker); ok {
		w = append(w, primary.WatchBrakes(f))
	}
	if local, ok := s.cfg.Local.(store.Braker); ok {
		w = append(w, local.WatchBrakes(func(scope, key string, c store.Clock) {
			if s.brakes.keeps(id{scope, key}) {
				f(scope, key, standing(c))
			}
		}))
	}
	return w
}

// Covers implements [store.Watch].
func (w watch) Covers(since time.Time) bool {
	for _, of := range w {
		if !of.Covers(since) {
			return false
		}
	}
	return true
}

// Stop implements [store.Watch].
func (w watch) Stop() {
	for _, of := range w {
		of.Stop()
	}
}
