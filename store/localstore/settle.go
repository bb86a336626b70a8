package localstore

import (
	"context"
	"fmt"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Cancel implements [store.Canceler]. When nobody was charged on the key since,
// its state is put back as it was. Otherwise windows take the units out of
// their counts or log, and GCRA takes them back as far as that admits nothing
// too much: not beyond a moment at which the bucket was full anyway. It waits
// for nothing, so a context that is over does not stop it.
func (s *Store) Cancel(_ context.Context, of any) error {
	r, err := s.receipt("cancel", of)
	if err != nil {
		return err
	}
	r.settle(func(int) int64 { return 0 })
	return nil
}

// Settle implements [store.Settler]. What is given back is what Cancel would give
// back of so many units. It waits for nothing, so a context that is over does
// not stop it.
func (s *Store) Settle(_ context.Context, of any, costs ...int64) error {
	r, err := s.receipt("settle", of)
	if err != nil {
		return err
	}
	cost, err := exact.Settled(r.count, costs)
	if err != nil {
		return err
	}
	r.settle(cost)
	return nil
}

func (s *Store) receipt(op string, of any) (*receipt, error) {
	r, ok := of.(*receipt)
	if !ok || r == nil || r.store != s {
		return nil, fmt.Errorf("localstore: %s: a receipt of type %T is not of this store", op, of)
	}
	return r, nil
}

func (r *receipt) settle(cost func(charge int) int64) {
	for i := range r.keys {
		r.keys[i].settle(r.store, r.slot, cost)
	}
}

func (k *kept) settle(s *Store, slot int64, cost func(charge int) int64) {
	e := k.entry
	sh := s.shard(e.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// After a reset, or when it lapsed, the key's entry is another.
	if sh.keys[e.id] != e || !k.sameLimits() || e.brake != nil && e.brake.IsVoid(slot, k.after.at) {
		return
	}
	now, alone, nothing := s.now(), k.unchanged(), true
	changed := e.brake.correct(k, slot, now, cost)
	for j := range k.limits {
		l, st := &k.limits[j], &e.states[j]
		to := cost(l.charge)
		switch {
		case l.cost == 0 || l.cost == to:
		case alone && to == 0:
			st.restore(&l.before, slot, l.cost)
			changed = true
		case l.of == st.counting || l.limit.Algorithm == store.SlidingWindow:
			c := correction{slot: slot, from: l.cost, to: to, now: now, alone: alone}
			changed = st.correct(c, &l.after) || changed
		}
		nothing = nothing && (l.cost == 0 || to == 0)
	}
	last, shorter := e.ahead.settle(k, slot, alone && nothing, cost)
	switch {
	case alone && nothing:
		e.line = k.before
		e.brake = k.braked[0]
	case changed && e.line.last < now:
		e.line = line{}
	case shorter:
		e.recede(last, now)
	}
	if e.settle(); e.lapse <= now {
		s.remove(sh, e)
	}
}

// recede has the line end at an instant, after which no window is still to come.
func (e *entry) recede(last, now int64) {
	if last > now {
		e.line.last = last
	} else {
		e.line = line{}
	}
	for i := range e.states {
		if s := &e.states[i]; s.limit.Algorithm != store.GCRA && s.limit.Algorithm != store.SlidingWindow {
			s.clamp(max(last, now), false)
		}
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
	if _, left := k.entry.ahead.version(); k.entry.line != k.after || left != k.left || (brake == nil) != (after == nil) || brake != nil && *brake != *after {
		return false
	}
	for j := range k.limits {
		if l, st := &k.limits[j], &k.entry.states[j]; st.counting != l.of || st.save() != l.after {
			return false
		}
	}
	return true
}
