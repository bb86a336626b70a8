package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// takeSmall is Take for one charge of a small key, or a new one that is going to
// be. It reports false, and has changed nothing, when that is not so.
func (s *Store) takeSmall(req *weir.Request) (d weir.Decision, done bool, err error) {
	c := &req.Charges[0]
	k := idOf(c)
	h := s.hash(&k)
	sh := &s.shards[h%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := &sh.small
	i := t.find(h, &k)
	if i < 0 {
		if len(sh.keys) > 0 && sh.keys[k] != nil {
			return d, false, nil
		}
		return s.takeNew(sh, h, &k, req)
	}
	at := &t.slots[i]
	of := &t.classes[at.class]
	if !of.is(&c.Limit) {
		return d, false, nil
	}
	now := s.now()
	v := exact.Verdict{Now: now, Slot: now}
	if c.Cost > 0 && c.Cost <= of.most {
		v.Slot = of.slot(&at.state, now, c.Need())
		if v.Allowed = v.Slot <= now; v.Allowed {
			of.book(&at.state, now, c.Cost)
		} else if v.Slot-now <= exact.MaxWait(req) {
			return d, false, nil // to be booked ahead
		}
	}
	remaining, reset := of.view(&at.state, now)
	return decideOne(c, &v, remaining, reset), true, nil
}

// takeNew is takeSmall for a key that there is nothing of.
func (s *Store) takeNew(sh *shard, h uint64, k *id, req *weir.Request) (d weir.Decision, done bool, err error) {
	c := &req.Charges[0]
	now := s.now()
	s.sweep(sh, now, newLooks)
	v := exact.Verdict{Now: now, Slot: now}
	if c.Cost == 0 || c.Cost > c.Limit.Max() {
		return decideOne(c, &v, c.Limit.Max(), 0), true, nil
	}
	if !s.makeRoom(1, now) {
		return d, true, ErrFull
	}
	i := sh.small.add(s.seed, h, k, &c.Limit)
	if i < 0 {
		s.count.Add(-1)
		return d, false, nil
	}
	at := &sh.small.slots[i]
	of := &sh.small.classes[at.class]
	of.book(&at.state, now, c.Cost)
	v.Allowed = true
	remaining, reset := of.view(&at.state, now)
	return decideOne(c, &v, remaining, reset), true, nil
}

func decideOne(c *weir.Charge, v *exact.Verdict, remaining, reset int64) (d weir.Decision) {
	o := [1]exact.Outcome{{Viewed: true, Remaining: remaining, Reset: reset, Slot: v.Slot}}
	req := weir.Request{Charges: []weir.Charge{*c}}
	return exact.Decide(&req, *v, o[:])
}
