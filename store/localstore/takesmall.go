package localstore

import (
	"hash/maphash"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// ask is what takeSmall is asked.
type ask struct {
	id
	hash        uint64
	limit       *store.Limit
	more        []store.Charge // those of further limits of the key
	class       *class         // the limits' in the scope; nil: there may be one
	cost, leave int64
	maxWait     int64
}

// takeSmall is Take for one charge of a small key, or of a new one that is going
// to be. It reports false, and has changed nothing, when it is neither.
//
// As little as can be is done under the lock: others may wait for it.
func (s *Store) takeSmall(a *ask) (o store.Outcome, done bool, err error) {
	sh := &s.shards[a.hash%shards]
	now := s.now()
	if at := sh.hot.of(a); at != nil {
		if o, done = at.take(s, a, now); done {
			return o, true, nil
		}
	}
	sh.mu.Lock()
	if now < sh.last {
		now = sh.last // Another call was faster from the clock to here.
	}
	sh.last = now
	i := sh.small.find(a.hash, &a.id, a.class)
	if i < 0 {
		o, done, err = s.takeNew(sh, a, now) // Nothing in there can panic.
		sh.mu.Unlock()
		return o, done, err
	}
	at := &sh.small.slots[i]
	sh.hot.cool(at)
	c := sh.small.classes[at.class].of
	slot, done := c.take(a, &at.state, now)
	if slot > now && slot-now <= mostLate && c.whole { // It may have been hot.
		now = max(s.now(), now)
		sh.last = now
		slot, done = c.take(a, &at.state, now)
	}
	st := at.state
	sh.heed(a.hash, i)
	sh.mu.Unlock()
	if done {
		o = c.outcome(&st, a.cost, slot, now)
	}
	return o, done, nil
}

// take is takeSmall for a key whose state is known. It returns the earliest slot.
func (c *class) take(a *ask, st *exact.State, now int64) (slot int64, done bool) {
	if c != a.class && !c.is(a.limit, nil) {
		return 0, false
	}
	if a.cost == 0 || a.cost > c.Max {
		return now, true
	}
	_, slot = c.Slot(st, nil, now, min(a.cost+a.leave, c.Max))
	switch {
	case slot <= now:
		c.Book(st, now, a.cost)
	case slot-now <= a.maxWait:
		return 0, false // to be booked ahead
	}
	return slot, true
}

// takeNew is takeSmall for a key that is not small.
func (s *Store) takeNew(sh *shard, a *ask, now int64) (o store.Outcome, done bool, err error) {
	if e := sh.keys[a.id]; e != nil {
		if e.lapse > now {
			return o, false, nil
		}
		s.remove(sh, e) // It is as if never used, so that it can be small.
	}
	s.sweep(sh, now, newLooks)
	if most := a.limit.Max(); a.cost == 0 || a.cost > most {
		o.Remaining, o.At = most, store.Instant(now)
		if a.cost > most {
			o.RetryAfter = store.Never
		}
		return o, true, nil
	}
	if !s.makeRoom(1, now) {
		return o, true, ErrFull
	}
	place := sh.small.class(a.scope, a.limit, nil, a.class)
	if place < 0 {
		s.count.Add(-1)
		return o, false, nil
	}
	at := &sh.small.slots[sh.small.add(s.seed, a.hash, &a.id, place)]
	c := sh.small.classes[place].of
	c.Book(&at.state, now, a.cost)
	return c.outcome(&at.state, a.cost, now, now), true, nil
}

// outcome is what was decided on cost units, given the state after that and their
// earliest slot.
func (c *class) outcome(st *exact.State, cost, slot, now int64) (o store.Outcome) {
	remaining, reset := c.View(st, nil, now)
	o.Remaining, o.ResetAfter = remaining, time.Duration(reset)*time.Microsecond
	o.At = store.Instant(now)
	if o.RetryAfter = time.Duration(slot-now) * time.Microsecond; cost > c.Max {
		o.RetryAfter = store.Never
	}
	return o
}

func setDecision(d *store.Decision, c *store.Charge, o *store.Outcome) {
	d.Reason = o.Reason()
	d.Allowed = d.Reason == store.ReasonAllowed
	d.RetryAfter = o.RetryAfter
	d.Limit, d.Scope, d.Remaining, d.ResetAfter = c.Limit, c.Scope, o.Remaining, o.ResetAfter
	if d.At = o.At; d.Allowed && c.Cost > 0 {
		d.Slot = o.At
	}
}

// prepared is a limit in a scope that calls come for.
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
