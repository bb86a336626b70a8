package localstore

import (
	"hash/maphash"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// takeOne is Take for one charge of a small key. See takeSmall.
func (s *Store) takeOne(req *store.Request) (d store.Decision, done bool, err error) {
	c := &req.Charges[0]
	a := ask{id: s.id(c.Scope, c.Key), limit: &c.Limit, cost: c.Cost, leave: c.Reserve, maxWait: exact.MaxWait(req)}
	a.hash = s.hash(&a.id)
	o, done, err := s.takeSmall(&a)
	if done && err == nil {
		setDecision(&d, c, &o)
	}
	return d, done, err
}

// takeSmall is Take for one charge of a small key, or of a new one that becomes small.
// It reports false, and has changed nothing, if the key is neither.
//
// Work that needs no lock comes after it: other calls may wait for the lock.
func (s *Store) takeSmall(a *ask) (o store.Outcome, done bool, err error) {
	sh := &s.all[a.hash%shardCount]
	now := s.now()
	if o, done = sh.small.takeHot(a, now, s.now); done {
		return o, true, nil
	}
	sh.mu.Lock()
	t, found, done := sh.small.take(a, sh.small.since(now), s.now)
	if !found {
		t, done, err = s.takeNew(sh, a, sh.small.last) // Nothing in there can panic.
	}
	sh.mu.Unlock()
	if done && err == nil {
		o = t.class.outcome(&t.state, a.cost, t.slot, t.now)
	}
	return o, done, err
}

// takeNew is takeSmall for a key that is not small.
func (s *Store) takeNew(sh *shard, a *ask, now int64) (t taken, done bool, err error) {
	if !s.lapsed(sh, &a.id, now) {
		return t, false, nil
	}
	s.sweep(sh, now, newLooks)
	c, place := sh.small.classOf(a)
	if c == nil {
		return t, false, nil
	}
	t = taken{class: c, now: now}
	if t.slot, done = t.class.take(a, &t.state, now); t.state == (exact.State{}) {
		return t, done, nil // Nothing was booked.
	}
	if !s.makeRoom(1, now) {
		return t, true, ErrFull
	}
	sh.small.put(a, place, t.state, nil)
	return t, true, nil
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

// prepared is the shorter way for a limit in a scope.
type prepared struct {
	store *Store
	class *class
	limit store.Limit
	hash  uint64 // of the scope
}

// Prepare implements [store.Preparer].
func (s *Store) Prepare(of store.Store, scope string, limit store.Limit) store.Prepared {
	if of != store.Store(s) || !isSmall(&limit) {
		return nil
	}
	return &prepared{store: s, class: newClass(scope, &limit, nil), limit: limit, hash: hash(s.seed, 0, scope)}
}

// Take implements [store.Prepared].
func (p *prepared) Take(key string, cost int64) (o store.Outcome, done bool, err error) {
	k := p.store.id(p.class.scope, key)
	return p.store.takeSmall(&ask{
		id: k, hash: maphash.String(p.store.seed, k.key) ^ p.hash,
		limit: &p.limit, class: p.class, cost: cost,
	})
}
