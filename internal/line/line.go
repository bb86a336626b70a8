package line

import (
	"container/list"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/goweir/weir/store"
)

// line is the line of one ID. The mutex of its shard guards it.
type line struct {
	lines *Lines
	shard *shard
	id    ID

	arrivals list.List // of *waiter, by arrival
	slots    []*slot   // in order; one for each waiter
	timer    *time.Timer
	alarm    time.Time // when timer fires; zero: stopped

	looking chan struct{} // has one while a call looks at the key
	look    look

	surplus []surplus // on its way back to the store
	giving  bool      // a goroutine gives back
}

// waiter is a call in line.
type waiter struct {
	ctx     context.Context
	arrival uint64
	bound   time.Time       // takes no slot after this one in exchange; zero: any
	slot    *slot           // nil once out of the line
	used    *slot           // in which it was admitted; nil: it books again
	ready   chan struct{}   // closed when admitted, or it books again
	back    <-chan struct{} // closed when the slot is back of a waiter that books again
	place   *list.Element   // in line.arrivals
}

// isLate reports whether a slot comes too late for the waiter.
func (w *waiter) isLate(s *slot) bool { return !w.bound.IsZero() && w.bound.Before(s.At) }

// add puts a waiter and its slot in their places.
func (q *line) add(w *waiter, s *slot) {
	w.slot, s.owner = s, w
	i := sort.Search(len(q.slots), func(i int) bool { return s.compare(q.slots[i]) < 0 })
	q.slots = slices.Insert(q.slots, i, s)
	// Replies come nearly in order, so that the place is near the end.
	e := q.arrivals.Back()
	for e != nil && e.Value.(*waiter).arrival > w.arrival {
		e = e.Prev()
	}
	if e == nil {
		w.place = q.arrivals.PushFront(w)
	} else {
		w.place = q.arrivals.InsertAfter(w, e)
	}
}

// remove takes a waiter out of the line and returns the slot that is now one too
// many: the latest. Its owner takes the leaver's slot. So all calls behind the
// leaver move up, and the store gets back the slot that this process booked last,
// which it can undo exactly.
func (q *line) remove(w *waiter) *slot {
	q.arrivals.Remove(w.place)
	end := len(q.slots) - 1
	last := q.slots[end]
	q.slots[end] = nil
	q.slots = q.slots[:end]
	if last != w.slot {
		w.slot.owner, last.owner.slot = last.owner, w.slot
	}
	return last
}

// advance admits one waiter for each slot that has come, sets the timer to the
// next slot, and drops an empty line.
func (q *line) advance() {
	now := time.Now()
	for len(q.slots) > 0 && !q.slots[0].At.After(now) {
		w := q.next(q.slots[0].owner)
		w.used = q.slots[0]
		q.slots[0] = nil
		q.slots = q.slots[1:]
		q.arrivals.Remove(w.place)
		w.slot = nil
		q.lines.exit()
		close(w.ready)
	}
	switch {
	case len(q.slots) > 0:
		q.wake(q.slots[0].At)
	case !q.alarm.IsZero():
		q.timer.Stop()
		q.alarm = time.Time{}
	}
	q.shard.drop(q)
}

// next returns the waiter that goes in owner's slot: the one that arrived first,
// unless owner can't wait for that waiter's slot in exchange.
func (q *line) next(owner *waiter) *waiter {
	first := q.arrivals.Front().Value.(*waiter)
	if first == owner || owner.isLate(first.slot) {
		return owner
	}
	owner.slot = first.slot
	owner.slot.owner = owner
	return first
}

// wake sets the timer.
func (q *line) wake(at time.Time) {
	switch in := time.Until(at); {
	case q.alarm.Equal(at):
		return
	case q.timer == nil:
		q.timer = time.AfterFunc(in, q.due)
	default:
		q.timer.Reset(in)
	}
	q.alarm = at
}

// due is the timer's function.
func (q *line) due() {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.alarm = time.Time{}
	// A timer that fired while it was being stopped may find an empty line.
	if len(q.slots) > 0 {
		q.advance()
	}
}

// leave takes a waiter whose context has ended out of the line. The channel is
// closed when its slot is back at the store. It reports false when the waiter was
// admitted in the meantime: a slot that has come is not given back.
func (q *line) leave(w *waiter) (back <-chan struct{}, left bool) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if w.slot != nil {
		// A slot right at the deadline must not depend on the order of two timers.
		q.advance()
	}
	if w.slot == nil {
		return nil, false
	}
	q.lines.exit()
	back = q.giveBack(w.ctx, q.remove(w).Receipt)
	q.advance()
	return back, true
}

// rebook makes a waiter book again, and gives a slot back that is out of the line.
func (q *line) rebook(w *waiter, s *slot) {
	q.arrivals.Remove(w.place)
	w.slot, w.back = nil, q.giveBack(w.ctx, s.Receipt)
	close(w.ready)
}

// move moves all slots by a clock. Waiters book again whose slots are lost, or come
// too late for them now.
func (q *line) move(c store.Clock, looked time.Time) {
	later := false
	kept := q.slots[:0]
	for _, s := range q.slots {
		at := s.At
		if !s.move(c, looked) {
			q.rebook(s.owner, s)
			continue
		}
		later = later || s.At.After(at)
		kept = append(kept, s)
	}
	clear(q.slots[len(kept):])
	q.slots = kept
	slices.SortStableFunc(q.slots, (*slot).compare)
	for e := q.arrivals.Front(); e != nil && later; {
		w := e.Value.(*waiter)
		if e = e.Next(); w.isLate(w.slot) {
			q.rebook(w, q.remove(w))
		}
	}
	q.advance()
}
