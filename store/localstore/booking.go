package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// home is where a key is kept.
type home struct {
	id
	places []int // see exact.Group
	shard  *shard
	entry  *entry
	fresh  bool // the entry is new, and no shard keeps it yet
}

// full is the answer of admit when the store has no room.
const full = -1

// group sorts charges by their keys.
func (s *Store) group(charges []store.Charge) (groups []exact.Group, homes []home) {
	n := len(charges)
	groups, homes = make([]exact.Group, 0, n), make([]home, 0, n)
	sorted, numbers, each := make([]store.Charge, 0, n), make([]int, 2*n), make([]int64, n)
	places, parts := numbers[:n], numbers[n:]
	for i := range charges {
		if earlier(charges, i) {
			continue
		}
		from := len(sorted)
		for j := i; j < n; j++ {
			if sameKey(&charges[j], &charges[i]) {
				places[len(sorted)] = j
				sorted = append(sorted, charges[j])
			}
		}
		to := len(sorted)
		homes = append(homes, home{id: s.idOf(&charges[i]), places: places[from:to]})
		groups = append(groups, exact.Group{
			Charges: sorted[from:to:to], Places: places[from:to],
			Found: exact.Found{Parts: parts[from:to:to], Each: each[from:to:to]},
		})
	}
	return groups, homes
}

// earlier reports whether a charge before the i-th is of its key.
func earlier(charges []store.Charge, i int) bool {
	for j := range i {
		if sameKey(&charges[j], &charges[i]) {
			return true
		}
	}
	return false
}

// decide decides a request, and books it if it is allowed.
func (s *Store) decide(req *store.Request, groups []exact.Group, homes []home, v *exact.Verdict, outcomes []exact.Outcome) error {
	var locks uint64 // one bit for each of the shards
	for i := range homes {
		at := s.index(homes[i].id)
		homes[i].shard = &s.shards[at]
		locks |= 1 << at
	}
	s.lock(locks)
	defer s.unlock(locks)
	now := s.now()
	for i := range homes {
		h := &homes[i]
		h.entry, h.fresh = s.open(h.shard, h.id, now)
		groups[i].Key = &h.entry.key
	}
	// keeps reports whether the request changes a key if it is allowed.
	keeps := func(i int) bool {
		return groups[i].Counts && !req.Free() || i == 0 && req.Hold.Asked()
	}
	admit := func() int64 {
		fresh := int64(0)
		for i := range homes {
			if homes[i].fresh && keeps(i) {
				fresh++
			}
		}
		return s.admit(&req.Hold, homes[0].entry, fresh, now)
	}
	if req.Peek() {
		admit = nil
	}
	var tag int64
	if req.Cancelable {
		tag = s.tags.Add(1)
	}
	exact.Take(req, groups, outcomes, v, now, tag, admit)
	if v.Full == full {
		return ErrFull
	}
	for i := range homes {
		h := &homes[i]
		if groups[i].Kept {
			h.entry.settle()
		}
		if !v.Allowed || !keeps(i) {
			continue
		}
		if h.entry.settle(); h.fresh {
			h.shard.add(h.entry)
		}
	}
	return nil
}

// admit makes room for new keys, and takes the lease that a request asks for. See
// exact.Take.
func (s *Store) admit(hold *store.Hold, e *entry, fresh, now int64) int64 {
	if hold.Asked() {
		if end := e.leases.full(hold.Max, now); end > 0 {
			return end
		}
	}
	if fresh > 0 && !s.makeRoom(fresh, now) {
		return full
	}
	if hold.Asked() {
		e.hold(hold.ID, now+hold.Lease.Microseconds())
	}
	return 0
}
