package localstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Take implements [store.Store].
func (s *Store) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	if err = ctx.Err(); err != nil {
		return d, err
	}
	if err = req.Validate(); err != nil {
		return d, err
	}
	switch small := !req.Cancelable && !req.Hold.Asked() && (req.MaxWait == 0 || req.Free()) && areSmall(req.Charges); {
	case small && len(req.Charges) == 1:
		c := &req.Charges[0]
		a := ask{id: s.id(c.Scope, c.Key), charges: req.Charges, cost: c.Cost, reserve: c.Reserve}
		a.hash = s.hash(&a.id)
		if o, done, err := s.takeSmall(&a); done {
			if err == nil {
				setDecision(&d, c, &o)
			}
			return d, err
		}
	case small:
		if d, done, err := s.takeSeveral(&req); done {
			return d, err
		}
	}
	return s.take(&req)
}

// take is Take for any valid request.
func (s *Store) take(req *store.Request) (d store.Decision, err error) {
	// The common case needs no allocation: these variables have room for it.
	var (
		group    [1]exact.Group
		home     [1]home
		seen     [1]exact.Seen
		parts    [2]int
		each     [2]int64
		outcomes [4]exact.Outcome
	)
	groups, homes, out := group[:], home[:], outcomes[:]
	var v exact.Verdict
	if keys.One(req.Charges) {
		home[0].id = s.id(req.Charges[0].Scope, req.Charges[0].Key)
		group[0].Charges = req.Charges
		group[0].Found = exact.Found{Parts: parts[:], Each: each[:]}
		v.Keys = seen[:]
	} else {
		groups, homes = s.group(req.Charges)
	}
	if n := len(req.Charges); n <= len(out) {
		out = out[:n]
	} else {
		out = make([]exact.Outcome, n)
	}
	if err = s.decide(req, groups, homes, &v, out); err != nil {
		return d, err
	}
	d = exact.Decide(req, &v, out)
	if req.Cancelable && v.Allowed {
		d.Receipt = receipt(len(req.Charges), v.Keys, homes)
	}
	return d, nil
}

// decide decides a request, and books it if it is allowed.
func (s *Store) decide(req *store.Request, groups []exact.Group, homes []home, v *exact.Verdict, outcomes []exact.Outcome) error {
	var locks uint64 // one bit for each of the shards
	for i := range homes {
		at := s.index(homes[i].id)
		homes[i].shard = &s.all[at]
		locks |= 1 << at
	}
	s.lock(locks)
	defer s.unlock(locks)
	now := s.now()
	for i := range homes {
		h := &homes[i]
		h.entry, h.fresh = s.open(h.shard, h.id, now)
		groups[i].Key = &h.entry.key
		if n := len(groups[i].Charges); h.fresh && n > 1 {
			h.entry.key.Parts = make([]exact.Part, 0, n)
		}
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
		h, booked := &homes[i], v.Allowed && keeps(i)
		if booked || groups[i].Kept {
			h.entry.setLapse()
		}
		if booked && h.fresh {
			h.shard.add(h.entry)
		}
	}
	return nil
}

// full is the result of admit when the store has no room.
const full = -1

// admit makes room for new keys, and takes the lease that a request asks for. See
// exact.Take.
func (s *Store) admit(hold *store.Hold, e *entry, fresh, now int64) int64 {
	if hold.Asked() {
		if end := e.room(hold.Max, now); end > 0 {
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

// receipt returns the receipt of a request that was allowed.
func receipt(charges int, keys []exact.Seen, homes []home) any {
	var all []*exact.Receipt
	for i := range keys {
		r := keys[i].Receipt
		if r == nil {
			continue
		}
		if r.Owner = homes[i].entry; len(keys) == 1 {
			return r
		}
		all = append(all, r)
	}
	return &receipts{charges, all}
}

// home is a key of a request, and the place of its state.
type home struct {
	id
	shard *shard
	entry *entry
	fresh bool // the entry is new, and no shard keeps it yet
}

// group returns the groups of charges with the same keys.
func (s *shards) group(charges []store.Charge) (groups []exact.Group, homes []home) {
	n := len(charges)
	numbers, each := make([]int, 2*n), make([]int64, n)
	places, parts := numbers[:0:n], numbers[n:]
	groups, homes = make([]exact.Group, 0, n), make([]home, 0, n)
	for i := range charges {
		from := len(places)
		places = keys.AppendPlaces(places, charges, i)
		to := len(places)
		if from == to {
			continue
		}
		homes = append(homes, home{id: s.id(charges[i].Scope, charges[i].Key)})
		groups = append(groups, exact.Group{
			Charges: keys.At(charges, places[from:to]),
			Found:   exact.Found{Places: places[from:to], Parts: parts[from:to:to], Each: each[from:to:to]},
		})
	}
	return groups, homes
}
