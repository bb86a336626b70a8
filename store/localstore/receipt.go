package localstore

import "github.com/goweir/weir/store"

// receipt is what cancelling or settling a booking takes.
type receipt struct {
	store *Store
	slot  int64
	count int // the request's charges
	keys  []kept
	one   [1]kept
}

// kept is one key as it was before a booking and after it.
type kept struct {
	entry         *entry
	before, after line
	from, left    int64       // the version of what was ahead after it
	braked        [2]*braking // before and after; nil without one
	limits        []keptLimit
	one           [1]keptLimit
}

type keptLimit struct {
	limit         store.Limit
	cost          int64
	charge        int      // its place in the request
	of            counting // what was booked on
	before, after snapshot
}

func newReceipt(s *Store, slot int64, charges, keys int) *receipt {
	r := &receipt{store: s, slot: slot, count: charges}
	if r.keys = r.one[:0]; keys > len(r.one) {
		r.keys = make([]kept, 0, keys)
	}
	return r
}

// add notes the state of a key that is about to be booked.
func (r *receipt) add(e *entry, charges []store.Charge, p places) {
	r.keys = append(r.keys, kept{entry: e, before: e.line})
	k := &r.keys[len(r.keys)-1]
	if k.limits = k.one[:]; len(e.states) > len(k.one) {
		k.limits = make([]keptLimit, len(e.states))
	}
	k.braked[0] = copyOf(e.brake)
	for j := range e.states {
		st := &e.states[j]
		k.limits[j] = keptLimit{limit: st.limit, cost: charges[p.at(j)].Cost, charge: p.at(j), of: st.counting, before: st.save()}
	}
}

// done notes the state of the key that was just booked.
func (r *receipt) done(e *entry) {
	k := &r.keys[len(r.keys)-1]
	k.after = e.line
	k.from, k.left = e.ahead.version()
	k.braked[1] = copyOf(e.brake)
	for j := range e.states {
		k.limits[j].after = e.states[j].save()
	}
}

func copyOf(k *braking) *braking {
	if k == nil {
		return nil
	}
	c := *k
	return &c
}
