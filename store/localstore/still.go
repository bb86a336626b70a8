package localstore

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// braking is a key's brake, and what it keeps of the limits' states.
type braking struct {
	exact.Brake
	still *standstill // nil: not known, or not paused
}

// standstill is what the states of a key's limits were when a pause was set.
// Nothing is used until the pause ends: when the slots that were booked for after it
// are made void, the states are those again. It does not change.
type standstill struct {
	at     int64
	states []snapshot // zero for a sliding window, whose log tells
}

// stand keeps the states for as long as the key is paused.
func (e *entry) stand(now int64) {
	e.brake.still = nil
	if e.brake.Until <= now {
		return
	}
	still := &standstill{at: now, states: make([]snapshot, len(e.states))}
	for i := range e.states {
		if e.states[i].limit.Algorithm != store.SlidingWindow {
			still.states[i] = e.states[i].save()
		}
	}
	e.brake.still = still
}

// resume puts the states back that were kept.
func (e *entry) resume(now int64) {
	for i := range e.states {
		if g, ok := e.states[i].counting.(*log); ok {
			g.drop(now + exact.VoidFrom) // A nearer slot is from before the pause.
			continue
		}
		e.states[i].restore(&e.brake.still.states[i], 0, 0)
	}
}

// correct corrects what was booked before the pause in the states that are kept
// too, and reports whether anything changed.
func (b *braking) correct(k *kept, slot, now int64, cost func(charge int) int64) (changed bool) {
	if b == nil || b.still == nil || b.Until <= now || slot > b.still.at+exact.VoidFrom {
		return false
	}
	still := &standstill{b.still.at, slices.Clone(b.still.states)}
	for j := range k.limits {
		l := &k.limits[j]
		to := cost(l.charge)
		if l.cost == 0 || l.cost == to || l.limit.Algorithm == store.SlidingWindow || l.of != k.entry.states[j].counting {
			continue
		}
		c := fresh(&l.limit)
		c.restore(&still.states[j], 0, 0)
		if c.correct(correction{slot: slot, from: l.cost, to: to, now: now}, &l.after) {
			still.states[j], changed = c.save(), true
		}
	}
	if changed {
		b.still = still
	}
	return changed
}
