package line

import (
	"container/list"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/goweir/weir/store"
)

// unwatched is the longest wait after which a slot is used although a brake may
// have been missed.
const unwatched = 50 * time.Millisecond

// line is the line of one ID. The mutex of its shard guards it.
type line struct {
	lines *Lines
	shard *shard
	id    ID

	arrivals list.List // of *waiter, by arrival
	slots    []*Slot   // in order; one for each waiter
	timer    *time.Timer
	alarm    time.Time // when timer fires; zero: stopped

	looker *waiter // looks at the key, for all; nil: none does

	surplus []surplus       // on its way back to the store
	giving  bool            // a goroutine gives back
	back    <-chan struct{} // closed when all of surplus is back
}

// waiter is a call in line.
type waiter struct {
	ctx     context.Context
	arrival uint64
	since   time.Time
	bound   time.Time     // takes no slot after this one in exchange; zero: any
	slot    *Slot         // nil once out of the line
	used    *Slot         // in which it was admitted
	wake    chan struct{} // has one when it is out of the line, or looks at the key
	place   *list.Element // in line.arrivals
}

// signal wakes the waiter, which then finds out why.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// isLate reports whether a slot comes too late for the waiter.
func (w *waiter) isLate(s *Slot) bool { return !w.bound.IsZero() && w.bound.Before(s.At) }

// add puts a waiter and its slot in their places.
func (q *line) add(w *waiter, s *Slot) {
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
func (q *line) remove(w *waiter) *Slot {
	end := len(q.slots) - 1
	last := q.slots[end]
	q.slots[end] = nil
	q.slots = q.slots[:end]
	if last != w.slot {
		w.slot.owner, last.owner.slot = last.owner, w.slot
	}
	q.end(w)
	return last
}

// advance admits one waiter for each slot that has come, sets the timer to the
// next slot, and drops an empty line. Where a brake may have been missed, the waiter
// looks at the key first.
func (q *line) advance() {
	now := time.Now()
	for q.looker == nil && len(q.slots) > 0 && !q.slots[0].At.After(now) {
		w := q.next(q.slots[0].owner)
		if q.isSure(w.slot, now) {
			q.admit(w, 0)
		} else {
			q.looker = w
			w.signal()
		}
	}
	switch {
	case q.looker == nil && len(q.slots) > 0:
		q.wake(q.slots[0].At)
	case !q.alarm.IsZero():
		q.timer.Stop()
		q.alarm = time.Time{}
	}
	q.shard.drop(q)
}

// admit admits a waiter, whose slot is the i-th.
func (q *line) admit(w *waiter, i int) {
	copy(q.slots[1:i+1], q.slots[:i])
	q.slots[0] = nil
	q.slots = q.slots[1:]
	w.used = w.slot
	q.lines.exit()
	q.end(w)
}

// end takes a waiter out of the line whose slot is.
func (q *line) end(w *waiter) {
	q.arrivals.Remove(w.place)
	w.slot = nil
	if q.looker == w {
		q.looker = nil
	}
	w.signal()
}

// next returns the waiter that goes in owner's slot: the one that arrived first,
// unless owner can't wait for that waiter's slot in exchange.
func (q *line) next(owner *waiter) *waiter {
	first := q.arrivals.Front().Value.(*waiter)
	if first == owner || owner.isLate(first.slot) {
		return owner
	}
	owner.slot, first.slot = first.slot, owner.slot
	owner.slot.owner, first.slot.owner = owner, first
	return first
}

// wake sets the timer. It fires after Patience too, until a slow call was reported.
func (q *line) wake(at time.Time) {
	in := time.Until(at)
	if q.lines.cfg.Slow != nil && !q.lines.slow.Load() {
		in = min(in, Patience)
	}
	switch {
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
	q.lines.Waits(q.fire())
}

// fire returns when the first waiter began to wait.
func (q *line) fire() (since time.Time) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.alarm = time.Time{}
	// A timer that fired while it was being stopped may find an empty line.
	if len(q.slots) > 0 {
		since = q.arrivals.Front().Value.(*waiter).since
		q.advance()
	}
	return since
}

// isSure reports whether a slot that has come knows of all brakes.
func (q *line) isSure(s *Slot, now time.Time) bool {
	return q.lines.cfg.Clock == nil || s.own == 0 || now.Sub(s.sure) < unwatched || q.lines.watcher.covers(s.sure)
}

// look asks the store for the key's clock, for all calls that wait for the key. The
// slots that have come hold if the store is away.
func (q *line) look(w *waiter) {
	asked := time.Now()
	defer func() { // The store may panic.
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		if q.looker == w {
			q.looker = nil
		}
		now := time.Now()
		for _, s := range q.slots {
			if s == w.slot || w.ctx.Err() == nil && !s.At.After(now) {
				s.sure = now
			}
		}
		q.advance()
	}()
	if c, err := q.lines.cfg.Clock(w.ctx, q.id); err == nil {
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		q.shard.move(q.id.Key, c, asked)
	}
}

// result returns the slot in which a waiter was admitted, or a channel that is closed
// when the slots of all waiters that left are back; neither while the waiter is in
// line. A waiter whose context has ended leaves. But a slot that has come is not given
// back.
func (q *line) result(w *waiter) (used *Slot, back <-chan struct{}, out bool) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if w.slot != nil && w.ctx.Err() != nil {
		// A slot right at the deadline must not depend on the order of two timers.
		q.advance()
		switch {
		case w.slot == nil:
		case w.slot.At.After(time.Now()):
			q.giveBack(w.ctx, q.remove(w).Receipt)
		default: // Another waiter looks at the key.
			q.admit(w, slices.Index(q.slots, w.slot))
		}
		q.advance()
	}
	return w.used, q.back, w.slot == nil
}

// move moves all slots by a clock. Waiters book again whose slots are lost, or come
// too late for them now.
func (q *line) move(c store.Clock, looked time.Time) {
	later := false
	kept := q.slots[:0]
	for _, s := range q.slots {
		at := s.At
		if w := s.owner; !s.move(c, looked) {
			q.giveBack(w.ctx, s.Receipt)
			q.end(w)
			continue
		}
		later = later || s.At.After(at)
		kept = append(kept, s)
	}
	clear(q.slots[len(kept):])
	q.slots = kept
	slices.SortStableFunc(q.slots, (*Slot).compare)
	for e := q.arrivals.Front(); e != nil && later; {
		w := e.Value.(*waiter)
		if e = e.Next(); w.isLate(w.slot) {
			q.giveBack(w.ctx, q.remove(w).Receipt)
		}
	}
	q.advance()
}
