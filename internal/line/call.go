package line

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// Call is a call on its way through its line. Enter gives it its place, which it keeps in
// whatever order the store's replies come.
type Call struct {
	Took    time.Duration // from the last question to its answer; 0: unknown
	Arrival uint64        // its number in the order of the key's calls
	Excess  time.Duration // after ErrLate, how long until the slot would have left
	since   time.Time     // when it began to wait; zero: it is never slow
	lines   *Lines
	shard   *shard
	id      ID
	counted bool          // against Max
	heard   store.Instant // when the last brake was set that moved its slot; 0: none
	back    <-chan struct{}
}

// ErrLate is the error of a call whose slot leaves too late for it: see Call.Excess.
var ErrLate = errors.New("line: the slot leaves too late")

// Enter lets a call in that waits since a time, for Config.Slow; zero: it is never slow. It
// reports false when Max calls wait already. Otherwise the caller calls Exit in the end.
func (l *Lines) Enter(id ID, since time.Time) (c Call, ok bool) {
	if !l.enter() {
		return Call{}, false
	}
	s := l.shard(id.Key)
	return Call{since: since, lines: l, shard: s, id: id, Arrival: s.arrivals.Add(1), counted: true}, true
}

// Exit ends the call. A second Exit does nothing.
func (c *Call) Exit() {
	if c.counted {
		c.lines.exit()
		c.counted = false
	}
}

// Goes reports whether the call may leave now, in a slot that is now. If an earlier call
// of the line waits, or the key's pace holds the call up, it has to Wait.
func (c *Call) Goes(limits []store.Limit, now time.Time) bool {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	if q := c.shard.lines[c.id]; q != nil && q.arrivals.Len() > 0 && q.arrivals.Front().Value.(*waiter).arrival < c.Arrival {
		return false
	}
	p := c.shard.pace(c.id.Key, now)
	p.answered(c.Took, now)
	if p.late > 0 && (c.shard.first(c.id.Key, now) != nil || p.free(limits, c.id.Cost, now, now).After(now)) {
		return false
	}
	p.leave(c.id.Cost, now)
	return true
}

// Retake returns the line's earliest slot on its way back to the store; nil: there is none
// before bound. Callers that leave as fast as others come then pile up no slots there.
func (c *Call) Retake(bound time.Time) *Slot {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	list, now := c.shard.surplus[c.id.Key], time.Now()
	for i, b := range slices.Backward(list) {
		if b.id == c.id && !b.slot.lost && b.slot.At.After(now) && !b.slot.At.After(bound) {
			c.shard.surplus[c.id.Key] = slices.Delete(list, i, i+1)
			close(b.done)
			return b.slot
		}
	}
	return nil
}

// Wait waits in line with the slot that the call has booked. It returns the slot
// in which the call goes, which may be another call's. The call takes no slot
// after bound in exchange; the zero bound: any.
//
// A brake may move the slot beyond bound, or out of the window that counted it. Then Wait
// gives the slot back and returns again: the call books another one. If ctx ends first, or
// the key's pace moves the slot beyond bound, Wait gives a slot back and returns the
// context's error, or [ErrLate]; see Linger.
func (c *Call) Wait(ctx context.Context, s *Slot, bound time.Time) (used *Slot, again bool, err error) {
	l := c.lines
	l.watcher.start()
	defer l.watcher.stop()
	w := &waiter{ctx: ctx, arrival: c.Arrival, since: c.since, bound: bound, wake: make(chan struct{})}
	c.counted = false // The line counts it out.
	q := c.join(w, s)
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
	if used, c.back, c.heard = q.result(w); used != nil {
		return used, false, nil
	}
	c.counted = true
	if err = ctx.Err(); err == nil && w.excess > 0 {
		c.Excess, err = w.excess, ErrLate
	}
	if err != nil {
		c.Exit()
		return nil, false, err
	}
	c.Linger()
	return nil, true, nil
}

// join puts the call in line.
func (c *Call) join(w *waiter, s *Slot) *line {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	q := c.shard.line(c.lines, c.id)
	if s.from == c.heard { // It was booked in the instant of that brake, and after it.
		s.from++
	}
	q.add(w, s)
	if h := &c.shard.heard; h.key == c.id.Key && s.precedes(h.clock) {
		q.move(h.clock, time.Time{}) // The message came before the store's answer.
	} else {
		q.advance()
	}
	return q
}

// Linger waits until the slot that the call gave up is back at the store, for [Grace] at
// most.
func (c *Call) Linger() { Linger(c.back) }

// Surrender gives up a slot that was granted just now to a call that can't use it. The
// calls in line move up. The channel is closed when the store has a slot back; nil:
// there is nothing to do.
func (l *Lines) Surrender(ctx context.Context, id ID, s *Slot) <-chan struct{} {
	shard := l.shard(id.Key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	q := shard.line(l, id)
	w := &waiter{ctx: ctx, arrival: math.MaxUint64, wake: make(chan struct{})}
	q.add(w, s)
	q.leave(w)
	q.advance()
	return w.back
}

// HandBack gives a slot back to the store after its instant, for a call that is not made
// after all. The Cost of id is 0 if the call has not departed. No call in line gets the
// slot: it may have come long ago, and a call that used it now would be one too many. The
// channel is closed afterwards; nil: there is nothing to do.
func (l *Lines) HandBack(ctx context.Context, id ID, receipt any) <-chan struct{} {
	shard := l.shard(id.Key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	q := shard.line(l, id)
	shard.correct(id.Key, -id.Cost)
	back := q.giveBack(ctx, &Slot{At: time.Now(), Receipt: receipt})
	q.advance()
	return back
}

// Correct adds more units to the departed calls of a key; below 0: takes them off.
func (l *Lines) Correct(key string, more int64) {
	shard := l.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.correct(key, more)
}
