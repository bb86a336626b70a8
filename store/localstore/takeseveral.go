package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// several is a request with several charges of a key that is small, or new and
// going to be.
type several struct {
	ask
	states  [mostLimits]exact.State
	slots   [mostLimits]int64 // the earliest of each limit
	verdict exact.Verdict
}

// takeSeveral is Take for several charges of a small key, or of a new one that is
// going to be. It reports false, and has changed nothing, when it is neither.
func (s *Store) takeSeveral(req *store.Request) (d store.Decision, done bool, err error) {
	var b several
	first := &req.Charges[0]
	b.ask = ask{id: s.idOf(first), limit: &first.Limit, more: req.Charges[1:]}
	b.hash = s.hash(&b.id)
	if done, err = b.take(s, req); !done || err != nil {
		return d, done, err
	}
	var room [mostLimits]exact.Outcome
	outcomes := room[:len(req.Charges)]
	for i := range outcomes {
		o := &outcomes[i]
		o.Slot = b.slots[i]
		o.Remaining, o.Reset = b.class.at(i).View(&b.states[i], nil, b.verdict.Now)
	}
	v, seen := b.verdict, [1]exact.Seen{{Slot: b.verdict.Slot}}
	v.Keys = seen[:]
	return exact.Decide(req, &v, outcomes), true, nil
}

// take sets the verdict, and what it is made from.
func (b *several) take(s *Store, req *store.Request) (done bool, err error) {
	sh := &s.shards[b.hash%shards]
	now := s.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now = max(now, sh.last) // Another call may have been faster from the clock to here.
	sh.last = now
	b.verdict.Now = now
	place := sh.small.find(b.hash, &b.id, nil)
	if place < 0 {
		return b.takeNew(s, sh, req)
	}
	at := &sh.small.slots[place]
	m := &sh.small.classes[at.class]
	if !m.of.is(b.limit, b.more) {
		return false, nil
	}
	b.class = m.of
	further := m.further(at)
	b.states[0] = at.state
	copy(b.states[1:], further)
	if !b.decide(req) {
		return false, nil
	}
	if b.verdict.Allowed {
		at.state = b.states[0]
		copy(further, b.states[1:])
	}
	return true, nil
}

// takeNew is take for a key that is not small.
func (b *several) takeNew(s *Store, sh *shard, req *store.Request) (done bool, err error) {
	now := b.verdict.Now
	if e := sh.keys[b.id]; e != nil {
		if e.lapse > now {
			return false, nil
		}
		s.remove(sh, e) // It is as if never used, so that it can be small.
	}
	s.sweep(sh, now, newLooks)
	class := sh.small.class(b.scope, b.limit, b.more, nil)
	if class < 0 {
		return false, nil
	}
	m := &sh.small.classes[class]
	b.class = m.of
	if b.decide(req); !b.verdict.Allowed {
		return true, nil
	}
	if !s.makeRoom(1, now) {
		return true, ErrFull
	}
	at := &sh.small.slots[sh.small.add(s.seed, b.hash, &b.id, class)]
	at.state = b.states[0]
	copy(m.further(at), b.states[1:])
	return true, nil
}

// decide sets the verdict, and the states to what they are then. It reports false
// when the request has to be booked ahead.
func (b *several) decide(req *store.Request) (done bool) {
	charges, now := req.Charges, b.verdict.Now
	look := req.Free() || req.NeverFits() >= 0
	slot := now
	for i := range charges {
		c := &charges[i]
		b.slots[i] = now
		if c.Cost > 0 && !look {
			_, b.slots[i] = b.class.at(i).Slot(&b.states[i], nil, now, c.Need())
			slot = max(slot, b.slots[i])
		}
	}
	b.verdict.Slot, b.verdict.Allowed = slot, !look && slot == now
	switch {
	case b.verdict.Allowed:
		for i := range charges {
			if cost := charges[i].Cost; cost > 0 {
				b.class.at(i).Book(&b.states[i], now, cost)
			}
		}
	case !look && slot-now <= exact.MaxWait(req):
		return false
	}
	return true
}
