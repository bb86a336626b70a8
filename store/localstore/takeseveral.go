package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// several is a request with several charges of a small key.
type several struct {
	ask
	states  [maxLimits]exact.State
	slots   [maxLimits]int64 // the earliest of each limit
	verdict exact.Verdict
}

// areSmall reports whether a small key can have the states of all charges.
func areSmall(charges []store.Charge) bool {
	if len(charges) > maxLimits || !keys.One(charges) {
		return false
	}
	for i := range charges {
		if !isSmall(&charges[i].Limit) {
			return false
		}
	}
	return true
}

// takeSeveral is Take for several charges of a small key, or of a new one that becomes
// small. It reports false, and has changed nothing, if the key is neither.
func (s *Store) takeSeveral(req *store.Request) (d store.Decision, done bool, err error) {
	var b several
	first := &req.Charges[0]
	b.ask = ask{id: s.id(first.Scope, first.Key), charges: req.Charges}
	b.hash = s.hash(&b.id)
	sh := &s.all[b.hash%shardCount]
	now := s.now()
	sh.mu.Lock()
	b.verdict.Now = sh.small.latest(now)
	switch c, first, further := sh.small.get(b.hash, &b.id); {
	case c == nil:
		done, err = s.severalNew(sh, &b, req)
	case c.is(b.charges):
		b.class, b.states[0], done = c, *first, true
		copy(b.states[1:], further)
		if b.decide(req); b.verdict.Allowed {
			*first = b.states[0]
			copy(further, b.states[1:])
		}
	}
	sh.mu.Unlock()
	if !done || err != nil {
		return d, done, err
	}
	var room [maxLimits]exact.Outcome
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

// severalNew is takeSeveral for a key that is not small.
func (s *Store) severalNew(sh *shard, b *several, req *store.Request) (done bool, err error) {
	now := b.verdict.Now
	c, index := s.classFor(sh, &b.ask, now)
	if c == nil {
		return false, nil
	}
	b.class = c
	if b.decide(req); !b.verdict.Allowed {
		return true, nil
	}
	if !s.makeRoom(1, now) {
		return true, ErrFull
	}
	sh.small.put(&b.ask, index, b.states[0], b.states[1:])
	return true, nil
}

// decide sets the verdict and the states after it.
func (b *several) decide(req *store.Request) {
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
	for i := 0; b.verdict.Allowed && i < len(charges); i++ {
		if cost := charges[i].Cost; cost > 0 {
			b.class.at(i).Book(&b.states[i], now, cost)
		}
	}
}
