package localstore

import (
	"hash/maphash"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// takeSmall is Take for one charge of a small key, or of a new one that becomes small.
// It reports false, and has changed nothing, if the key is neither.
//
// Work without the lock comes after it, as other calls may wait for the lock.
func (s *Store) takeSmall(a *ask) (o store.Outcome, done bool, err error) {
	sh := &s.all[a.hash%shardCount]
	now := s.now()
	if k := sh.small.hot.of(a); k != nil {
		if o, done = k.take(a, now, s.now); done {
			return o, true, nil
		}
	}
	var t taken
	sh.mu.Lock()
	t.now = sh.small.latest(now)
	found, done := sh.small.take(a, &t, s.now)
	if !found {
		done, err = s.takeNew(sh, a, &t) // Nothing in takeNew can panic.
	}
	sh.mu.Unlock()
	if done && err == nil {
		remaining, reset := t.class.View(&t.state, nil, t.now)
		o = t.class.outcome(remaining, reset, a.cost, t.slot, t.now)
	}
	return o, done, err
}

// takeNew is takeSmall for a key that is not small.
func (s *Store) takeNew(sh *shard, a *ask, t *taken) (done bool, err error) {
	c, index := s.classFor(sh, a, t.now)
	if c == nil {
		return false, nil
	}
	t.class = c
	if t.slot = c.take(a, &t.state, t.now); t.state == (exact.State{}) {
		return true, nil // Nothing was booked.
	}
	if !s.makeRoom(1, t.now) {
		return true, ErrFull
	}
	sh.small.put(a, index, t.state, nil)
	return true, nil
}

// setDecision fills in the decision on a request with one charge.
func setDecision(d *store.Decision, c *store.Charge, o *store.Outcome) {
	d.Reason = o.Reason()
	d.Allowed = d.Reason == store.ReasonAllowed
	d.RetryAfter = o.RetryAfter
	d.Limit, d.Scope, d.Remaining, d.ResetAfter = c.Limit, c.Scope, o.Remaining, o.ResetAfter
	if d.At = o.At; d.Allowed && c.Cost > 0 {
		d.Slot = o.At
	}
}

// prepared is a limit in a scope.
type prepared struct {
	store   *Store
	class   *class
	charges []store.Charge // one, for its limit
	hash    uint64         // of the scope
}

// Prepare implements [store.Preparer].
func (s *Store) Prepare(of store.Store, scope string, limit store.Limit) store.Prepared {
	if of != store.Store(s) || !isSmall(&limit) {
		return nil
	}
	charges := []store.Charge{{Limit: limit}}
	return &prepared{store: s, class: newClass(scope, charges), charges: charges, hash: hash(0, scope)}
}

// Source implements [store.Prepared].
func (p *prepared) Source() store.Source { return store.SourceStore }

// Take implements [store.Prepared].
func (p *prepared) Take(key string, cost int64) (o store.Outcome, done bool, err error) {
	k := p.store.id(p.class.scope, key)
	return p.store.takeSmall(&ask{
		id: k, hash: maphash.String(seed, k.key) ^ p.hash,
		charges: p.charges, class: p.class, cost: cost,
	})
}
