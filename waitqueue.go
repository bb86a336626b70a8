package weir

import (
	"container/list"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/goweir/weir/store"
)

// queue is the line of the calls of one Limiter that wait with the same key,
// cost and limits, so that their slots are interchangeable.
//
// The mutex of its shard guards a queue. A queue exists while it has slots or
// something to give back.
type queue struct {
	limiter *Limiter
	shard   *waitShard
	id      lineID

	arrivals list.List // of *waiter, by arrival
	slots    []*slot   // in order; one for each waiter
	timer    *time.Timer
	alarm    time.Time // what timer is set to; zero: stopped

	asking chan struct{} // has one while somebody asks the store
	answer answer

	surplus []surplus // slots to give back to the store, latest first
	giving  bool      // a goroutine is at it
}

// waiter is a call that was granted a slot and waits for one.
type waiter struct {
	arrival uint64
	bound   time.Time     // takes no slot after this one in exchange; zero: any
	slot    *slot         // nil once admitted
	used    *slot         // in which it was admitted
	ready   chan struct{} // closed when admitted, or its slot is void
	again   bool          // its slot is void
	place   *list.Element // in queue.arrivals
}

// slot is an instant that the store granted.
type slot struct {
	at      time.Time
	order   store.Instant // the same by the store's clock: replies may overtake each other
	booked  time.Time
	granted store.Instant // the same by the store's clock
	receipt any
	owner   *waiter
}

// add puts a waiter and its slot in their places.
func (q *queue) add(w *waiter, s *slot) {
	w.slot, s.owner = s, w
	i := sort.Search(len(q.slots), func(i int) bool { return q.slots[i].order > s.order })
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

// remove takes a waiter out of the line and returns the slot that nobody needs
// now. That is the latest of all, whose owner takes the leaver's: everybody
// behind the leaver moves up, and what goes back to the store is what this
// process booked last, which the store can undo exactly.
func (q *queue) remove(w *waiter) *slot {
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
// next slot, and ends the queue when nothing is left.
func (q *queue) advance() {
	now := time.Now()
	for len(q.slots) > 0 && !q.slots[0].at.After(now) {
		w := q.next(q.slots[0].owner)
		w.used = q.slots[0]
		q.slots[0] = nil
		q.slots = q.slots[1:]
		q.arrivals.Remove(w.place)
		w.slot = nil
		q.limiter.exit()
		close(w.ready)
	}
	switch {
	case len(q.slots) > 0:
		q.wake(q.slots[0].at)
	case !q.alarm.IsZero():
		q.timer.Stop()
		q.alarm = time.Time{}
	}
	if len(q.slots) == 0 && !q.giving && q.shard.queues[q.id] == q {
		delete(q.shard.queues, q.id)
		q.limiter.waits.queues.Add(-1)
	}
}

// next returns who goes in the slot that owner has now: whoever arrived first,
// unless owner can't wait for that waiter's slot in exchange.
func (q *queue) next(owner *waiter) *waiter {
	first := q.arrivals.Front().Value.(*waiter)
	if first == owner || !owner.bound.IsZero() && owner.bound.Before(first.slot.at) {
		return owner
	}
	owner.slot = first.slot
	owner.slot.owner = owner
	return first
}

// wake has the queue advanced at an instant.
func (q *queue) wake(at time.Time) {
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

// due is what the timer calls.
func (q *queue) due() {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.alarm = time.Time{}
	// A timer that fired while it was being stopped finds nobody, and perhaps
	// another queue in the place of this one.
	if len(q.slots) > 0 {
		q.advance()
	}
}

// leave takes a waiter whose context has ended out of the line, and returns
// what the give-back closes when it is done. It reports false when the waiter
// was admitted in the meantime: a slot that has come is not given back.
func (q *queue) leave(ctx context.Context, w *waiter) (back <-chan struct{}, left bool) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if w.slot != nil {
		// A slot right at the deadline must not depend on which of the two
		// timers was served first.
		q.advance()
	}
	if w.slot == nil {
		return nil, false
	}
	q.limiter.exit()
	back = q.giveBack(ctx, q.remove(w))
	q.advance()
	return back, true
}
