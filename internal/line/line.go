package line

import (
	"container/list"
	"slices"
	"sort"
	"time"

	"github.com/goweir/weir/store"
)

// unwatched is the maximum age of a slot's last news of its key. An older slot needs a
// look at the key, if no watch covers it. A slot waits for a look for at most that time.
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

	looks look
	free  time.Time // when the first slot leaves at its key's pace; zero: at its instant
}

// add puts a waiter and its slot in their places.
func (q *line) add(w *waiter, s *Slot) {
	w.slot, s.owner = s, w
	i := sort.Search(len(q.slots), func(i int) bool { return s.compare(q.slots[i]) < 0 })
	for _, near := range q.slots[max(0, i-1):min(i+1, len(q.slots))] {
		s.early(near)
	}
	for j := i; j < len(q.slots) && q.slots[j].early(s); j++ {
	}
	for j := i - 1; j >= 0 && q.slots[j].early(s); j-- {
	}
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

// leave takes a waiter out of the line and gives the latest slot back, which is now one too
// many. Its owner takes the leaver's slot. So all calls behind the leaver move up, and the
// store gets back the slot that this process booked last, which it can undo exactly.
func (q *line) leave(w *waiter) {
	end := len(q.slots) - 1
	last := q.slots[end]
	q.slots = slices.Delete(q.slots, end, end+1)
	if last != w.slot {
		w.slot.owner, last.owner.slot = last.owner, w.slot
	}
	q.end(w)
	w.back = q.giveBack(w.ctx, last)
}

// advance admits one waiter for each slot that has come, as the key's pace allows. Then it
// sets the timer to the next slot, or the look before it. It drops an empty line.
func (q *line) advance() {
	now := time.Now()
	q.halted(now)
	q.free = time.Time{}
	for len(q.slots) > 0 && !q.slots[0].At.After(now) && !q.holds(q.slots[0], now) {
		if other := q.shard.first(q.id.Key, now); other != nil && other != q {
			if q.free = other.free; other.looks.held {
				q.free = other.looks.asked.Add(unwatched)
			}
			if q.free.After(now) {
				break
			}
			other.advance()
			continue
		}
		w := q.next(q.slots[0].owner)
		if q.free = q.paced(w.slot, now); !q.free.After(now) {
			q.admit(w)
		} else if w.isLate(q.free) && !w.isLate(w.slot.At) {
			w.excess = q.free.Sub(now)
			q.leave(w)
		} else {
			break
		}
	}
	switch {
	case len(q.slots) > 0:
		q.wake(q.acts(now))
	case !q.alarm.IsZero():
		q.timer.Stop()
		q.alarm = time.Time{}
	}
	q.shard.drop(q)
}

// halted notes that the line acts late because the process stood still.
func (q *line) halted(now time.Time) {
	if !q.alarm.IsZero() && now.Sub(q.alarm) >= lateFrom {
		q.shard.pace(q.id.Key, now).delayed(now.Sub(q.alarm), now)
	}
}

// paced returns when the key's pace allows a slot.
func (q *line) paced(s *Slot, now time.Time) time.Time {
	p := q.shard.pace(q.id.Key, now)
	p.answered(s.took, now)
	return s.standing(p.free(s.limits, q.id.Cost, s.At, now))
}

// admit admits the waiter with the first slot.
func (q *line) admit(w *waiter) {
	now := time.Now()
	q.shard.pace(q.id.Key, now).leave(q.id.Cost, now)
	q.slots[0], q.slots = nil, q.slots[1:]
	w.used = w.slot
	q.lines.exit()
	q.end(w)
}

// end takes a waiter out of the line if its slot is gone already.
func (q *line) end(w *waiter) {
	q.arrivals.Remove(w.place)
	w.slot = nil
	close(w.wake) // The waiter finds out why.
}

// next returns the waiter that leaves in owner's slot: the first arrival, unless owner
// can't wait for that waiter's slot in exchange.
func (q *line) next(owner *waiter) *waiter {
	first := q.arrivals.Front().Value.(*waiter)
	if first == owner || owner.isLate(first.slot.At) {
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
		q.timer = time.AfterFunc(in, func() { q.lines.Waits(q.fire()) })
	default:
		q.timer.Reset(in)
	}
	q.alarm = at
}

// fire is the timer's function. It returns when the first waiter began to wait.
func (q *line) fire() (since time.Time) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.halted(time.Now())
	q.alarm = time.Time{}
	// A timer that fired while it was being stopped may find an empty line.
	if len(q.slots) > 0 {
		since = q.arrivals.Front().Value.(*waiter).since
		q.advance()
	}
	return since
}

// result returns the slot in which a waiter was admitted. A waiter whose context has ended
// leaves without a slot, unless its slot has come. back is closed when its slot is back, and
// heard is when the last brake was set that moved its slot.
func (q *line) result(w *waiter) (used *Slot, back <-chan struct{}, heard store.Instant) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if w.slot != nil && w.ctx.Err() != nil {
		// The outcome of a slot right at the deadline must not depend on the order of two timers.
		q.advance()
		switch {
		case w.slot == nil:
		case q.looks.held && w.slot == q.slots[0] && !q.paced(w.slot, time.Now()).After(time.Now()):
			q.admit(w)
		default:
			q.leave(w)
		}
		q.advance()
	}
	return w.used, w.back, w.heard
}

// move moves all slots by a clock. A waiter books again if its slot is lost, or is now too
// late for it. Slots that have come unheard keep their distances.
func (q *line) move(c store.Clock, looked time.Time) {
	later, now := false, time.Now()
	q.slots = slices.DeleteFunc(q.slots, func(s *Slot) bool {
		at, w := s.At, s.owner
		switch lost := s.move(c, looked); {
		case lost:
			w.back = q.giveBack(w.ctx, s)
			q.end(w)
		case s.At.After(at):
			later = true
		case s.At.Before(at):
			q.shard.pace(q.id.Key, now).answered(now.Sub(s.At), now)
		}
		return s.lost
	})
	slices.SortStableFunc(q.slots, (*Slot).compare)
	for e := q.arrivals.Front(); e != nil && later; {
		w := e.Value.(*waiter)
		if e = e.Next(); w.isLate(w.slot.At) {
			q.leave(w)
		}
	}
	q.advance()
}
