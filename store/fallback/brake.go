package fallback

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// mostBrakes is how many keys' brakes are kept for the primary while it is away.
// Further ones stay local.
const mostBrakes = 4096

// brakes are those that the primary does not know yet.
type brakes struct {
	mu      sync.Mutex
	pending map[id]pendingBrake
	some    atomic.Bool // are pending
}

type pendingBrake struct {
	charges []store.Charge
	brake   store.Brake
	at      time.Time
	lifted  bool // what slowed the key down before
}

// Brake implements [store.Braker]. While the primary is away the key is slowed
// down in this process, and for all others when it is back, as far as that is
// not over by then.
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

// brakeLocal has the local store, which knows this process's share of the
// limits, slow a key down in its share of the rate.
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

// keep remembers a brake for the primary. Of several of a key the pause that
// ends last counts, and the latest of everything else.
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

// joined is a brake together with one of some time before.
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

// deliver tells the primary, which is back, of brakes that were set while it was away. If
// it is gone again, the rest is kept for the next time.
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

// restore keeps brakes again that were not delivered, but for keys with a newer brake.
func (k *brakes) restore(pending map[id]pendingBrake) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, p := range k.pending {
		pending[key] = p
	}
	k.pending = pending
	k.some.Store(true)
}

// heed has the local store know of a pause that the primary has told of.
func (s *Store) heed(a *attempt) {
	if a.d.Reason == store.ReasonPaused && a.d.RetryAfter > 0 {
		s.brakeLocal(context.Background(), binding(a.req.Charges, &a.d), store.Brake{Pause: min(a.d.RetryAfter, store.MaxPeriod/4)})
	}
}

// binding returns the charges of the key whose limit a decision says is the binding
// one.
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

// WatchBrakes implements [store.Braker]. The clock of the local store holds if this
// process alone knows of the brake, also for slots that the primary granted: both
// clocks count from the Unix epoch.
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
