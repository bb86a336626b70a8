package localstore

import (
	"hash/maphash"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// takeSmall is Take for one charge of a small key, or of a new one that is going
// to be. It reports false, and has changed nothing, when it is neither.
func (s *Store) takeSmall(h uint64, k *id, l *weir.Limit, cost, leave, maxWait int64) (o weir.Outcome, done bool, err error) {
	sh := &s.shards[h%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := &sh.small
	i := t.find(h, k)
	if i < 0 {
		if len(sh.keys) > 0 && sh.keys[*k] != nil {
			return o, false, nil
		}
		return s.takeNew(sh, h, k, l, cost)
	}
	at := &t.slots[i]
	c := &t.classes[at.class]
	if !c.is(l) {
		return o, false, nil
	}
	now := s.now()
	slot := now
	if cost > 0 && cost <= c.most {
		slot = c.slot(&at.state, now, min(cost+leave, c.most))
		switch {
		case slot <= now:
			c.book(&at.state, now, cost)
		case slot-now <= maxWait:
			return o, false, nil // to be booked ahead
		}
	}
	return c.outcome(&at.state, cost, slot, now), true, nil
}

// takeNew is takeSmall for a key that nothing is known of.
func (s *Store) takeNew(sh *shard, h uint64, k *id, l *weir.Limit, cost int64) (o weir.Outcome, done bool, err error) {
	now := s.now()
	s.sweep(sh, now, newLooks)
	if cost == 0 || cost > l.Max() {
		return o, false, nil
	}
	if !s.makeRoom(1, now) {
		return o, true, ErrFull
	}
	i := sh.small.add(s.seed, h, k, l)
	if i < 0 {
		s.count.Add(-1)
		return o, false, nil
	}
	at := &sh.small.slots[i]
	c := &sh.small.classes[at.class]
	c.book(&at.state, now, cost)
	return c.outcome(&at.state, cost, now, now), true, nil
}

// outcome is what was decided on cost units, given the state after that and their
// earliest slot.
func (c *class) outcome(st *exact.State, cost, slot, now int64) (o weir.Outcome) {
	remaining, reset := c.view(st, now)
	o.Remaining, o.ResetAfter = remaining, time.Duration(reset)*time.Microsecond
	o.At = weir.Instant(now)
	if o.RetryAfter = time.Duration(slot-now) * time.Microsecond; cost > c.most {
		o.RetryAfter = weir.Never
	}
	return o
}

func setDecision(d *weir.Decision, l *weir.Limit, o *weir.Outcome) {
	d.Reason = o.Reason()
	d.Allowed = d.Reason == weir.Allowed
	d.RetryAfter = o.RetryAfter
	d.Limit, d.Remaining, d.ResetAfter = *l, o.Remaining, o.ResetAfter
	d.At = o.At
}

// prepared is a limit in a scope that calls come for.
type prepared struct {
	store *Store
	id    id // without a key
	hash  uint64
	limit weir.Limit
}

// Prepare implements [weir.Preparer].
func (s *Store) Prepare(of weir.Store, scope string, limit weir.Limit) weir.Prepared {
	if of != weir.Store(s) || !isSmall(&limit) {
		return nil
	}
	return &prepared{store: s, id: id{scope: scope}, hash: hash(s.seed, 0, scope), limit: limit}
}

// Take implements [weir.Prepared].
func (p *prepared) Take(key string, cost int64) (o weir.Outcome, done bool, err error) {
	k := id{p.id.scope, key}
	return p.store.takeSmall(maphash.String(p.store.seed, key)^p.hash, &k, &p.limit, cost, 0, 0)
}
