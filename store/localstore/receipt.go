package localstore

import (
	"context"
	"fmt"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// receipt is what cancelling a booking takes.
type receipt struct {
	store *Store
	slot  int64
	keys  []kept
	one   [1]kept
}

// kept is one key as it was before a booking and after it.
type kept struct {
	entry         *entry
	before, after line
	braked        [2]*exact.Brake // before and after; nil without one
	limits        []keptLimit
	one           [1]keptLimit
}

type keptLimit struct {
	limit         weir.Limit
	cost          int64
	before, after snapshot
}

func newReceipt(s *Store, slot int64, keys int) *receipt {
	r := &receipt{store: s, slot: slot}
	if r.keys = r.one[:0]; keys > len(r.one) {
		r.keys = make([]kept, 0, keys)
	}
	return r
}

// add notes the state of a key that is about to be booked.
func (r *receipt) add(e *entry, charges []weir.Charge, p places) {
	r.keys = append(r.keys, kept{entry: e, before: e.line})
	k := &r.keys[len(r.keys)-1]
	if k.limits = k.one[:]; len(e.states) > len(k.one) {
		k.limits = make([]keptLimit, len(e.states))
	}
	k.braked[0] = copyOf(e.brake)
	for j := range e.states {
		st := &e.states[j]
		k.limits[j] = keptLimit{limit: st.limit, cost: charges[p.at(j)].Cost, before: st.save()}
	}
}

// done notes the state of the key that was just booked.
func (r *receipt) done(e *entry) {
	k := &r.keys[len(r.keys)-1]
	k.after = e.line
	k.braked[1] = copyOf(e.brake)
	for j := range e.states {
		k.limits[j].after = e.states[j].save()
	}
}

// Cancel implements [weir.Canceler]. When nobody was charged on the key since,
// its state is put back as it was. Otherwise windows take the units out of
// their counts or log, and GCRA takes them back as far as that admits nothing
// too much: not beyond a moment at which the bucket was full anyway. It waits
// for nothing, so a context that is over does not stop it.
func (s *Store) Cancel(_ context.Context, of any) error {
	r, ok := of.(*receipt)
	if !ok || r == nil || r.store != s {
		return fmt.Errorf("localstore: cancel: a receipt of type %T is not of this store", of)
	}
	for i := range r.keys {
		r.keys[i].cancel(s, r.slot)
	}
	return nil
}

func (k *kept) cancel(s *Store, slot int64) {
	e := k.entry
	sh := s.shard(e.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// After a reset, or when it lapsed, the key's entry is another.
	if sh.keys[e.id] != e || !k.sameLimits() {
		return
	}
	now := s.now()
	if k.unchanged() {
		for j := range e.states {
			if l := &k.limits[j]; l.cost > 0 {
				e.states[j].restore(&l.before, slot, l.cost)
			}
		}
		e.line = k.before
		e.brake = k.braked[0]
	} else if k.unbook(slot, now) && e.line.last < now {
		e.line = line{}
	}
	if e.settle(); e.lapse <= now {
		s.remove(sh, e)
	}
}

// sameLimits reports whether the key's limits are those that were booked.
func (k *kept) sameLimits() bool {
	if len(k.entry.states) != len(k.limits) {
		return false
	}
	for j := range k.limits {
		if k.entry.states[j].limit != k.limits[j].limit {
			return false
		}
	}
	return true
}

// unchanged reports whether the key's state is that after the booking.
func (k *kept) unchanged() bool {
	brake, after := k.entry.brake, k.braked[1]
	if k.entry.line != k.after || (brake == nil) != (after == nil) || brake != nil && *brake != *after {
		return false
	}
	for j := range k.limits {
		if k.entry.states[j].save() != k.limits[j].after {
			return false
		}
	}
	return true
}

// unbook takes back what can be, and reports whether anything could.
func (k *kept) unbook(slot, now int64) (changed bool) {
	for j := range k.limits {
		if l := &k.limits[j]; l.cost > 0 && k.entry.states[j].unbook(slot, l.cost, now) {
			changed = true
		}
	}
	return changed
}

func copyOf(k *exact.Brake) *exact.Brake {
	if k == nil {
		return nil
	}
	c := *k
	return &c
}
