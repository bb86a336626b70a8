package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// WaitLevels is [ReserveLevels] for a call that may wait for at most maxWait, and
// not past the deadline of ctx: it returns when the call's slot has come, so that
// the Reservation has no Delay. With a maxWait of 0 nothing is waited for; one
// below 0 is a *[ConfigError].
//
// What can't be had at once is waited for level by level, the narrowest first, so
// that nobody is held up on a wide level by a call that is still waiting on a
// narrow one; each level is a call of the store, on a cluster as on one server. On
// each level the call waits as one of [Limiter.Wait] does: in line, counted against
// the MaxWaiters of that Limiter, and on when the level's key is paused before its
// slot there has come.
//
// What was booked is given back when a later level refuses or ctx ends. A call that
// was refused is then decided on once more, without waiting. Calls of the background
// class do not wait (see [InBackground]).
//
// A level counts a call at its own slot. One that then waits for a wider level
// leaves later than that, so when the wait for the wide level gets shorter, calls
// of one narrow key may leave closer together than the narrow limit has it, though
// never faster than the wide one does. Where the narrow limit is the one that must
// not be exceeded, give the wide one room.
//
// The Hook of the first level's Limiter is told of the decision that is returned,
// and of the wait if there was any: of one that ended with an error, in the name of
// the level that was waited for.
func WaitLevels(ctx context.Context, maxWait time.Duration, levels ...Level) (*Reservation, Decision, error) {
	if maxWait < 0 {
		return nil, Decision{}, &ConfigError{Field: "maxWait", Want: "0 or more", Got: maxWait.String()}
	}
	if err := checkLevels(ctx, levels); err != nil {
		return nil, Decision{}, err
	}
	w := levelWait{levels: levels, start: time.Now()}
	r, d, err := reserveLevels(ctx, levels)
	if err != nil {
		return nil, decisionOf(&d), err
	}
	w.longest, w.bound = longestWait(ctx, time.Now(), maxWait)
	if maxWait > 0 && !d.Allowed && !inBackground(ctx) && (d.Reason == Limited || d.Reason == Paused) && d.RetryAfter <= w.longest {
		r, d, err = w.wait(ctx, d)
	}
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	if w.waited {
		w.observe(ctx, d, err)
	}
	return r, decisionOf(&d), err
}

// levelWait is a call that waits for one level after the other.
type levelWait struct {
	levels  []Level
	start   time.Time
	longest time.Duration
	bound   Bound
	taken   []levelTaken
	at      int            // the level that it waits for
	last    store.Decision // the last on that, or on all of them
	waited  bool
	full    bool // refused by the level's MaxWaiters
}

// wait waits for one level after the other. Where one refuses, it decides on all
// of them once more.
func (w *levelWait) wait(ctx context.Context, first store.Decision) (r *Reservation, d store.Decision, err error) {
	switch err = w.takeAll(ctx, first); {
	case err == nil:
		v := &w.levels[0]
		d = w.decision()
		return &Reservation{limiter: v.Limiter, key: v.Key, cost: v.cost(), decision: d, at: time.Now(), levels: &w.taken}, d, nil
	case !errors.Is(err, ErrLimited):
		return nil, store.Decision{}, err
	}
	if d = first; w.waited {
		r, d, err = reserveLevels(ctx, w.levels)
	} else {
		err = nil // Too many wait, and it was decided just now.
	}
	if w.full && err == nil && (d.Reason == Limited || d.Reason == Paused) {
		w.refuseFull(&d)
	}
	return r, d, err
}

// takeAll books one level after the other and waits for each slot. The error is
// ErrLimited when a level refuses.
func (w *levelWait) takeAll(ctx context.Context, first store.Decision) (err error) {
	done := false
	// Deferred, so that a panic in a store gives back too.
	defer func() {
		if !done {
			w.giveBack(ctx, errors.Is(err, ErrLimited))
		}
	}()
	for w.at = range w.levels {
		w.last = first
		if err := w.take(ctx); err != nil {
			return err
		}
	}
	done = true
	return nil
}

// take books the level that it is at and waits for the slot.
func (w *levelWait) take(ctx context.Context) error {
	v := &w.levels[w.at]
	l, now := v.Limiter, time.Now()
	c := waitingCall{
		limiter: l, id: l.line(queueID{v.Key, v.cost()}, v.limits()), start: now,
		maxWait: max(w.longest-now.Sub(w.start), 1), level: w.levels[w.at : w.at+1], d: w.last,
	}
	// A level that is only looked at is not waited for.
	if c.inQueue = v.Peek; !c.inQueue && !l.enter() {
		w.full = true
		return ErrLimited
	}
	w.waited = true
	_, err := c.wait(ctx)
	w.last = c.d
	if err != nil {
		return err
	}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	c.d.Receipt, c.d.At = c.granted.receipt, c.granted.at // They go with the slot, which may have been another's.
	w.taken = append(w.taken, levelTaken{cost: c.id.cost, alone: &Reservation{limiter: l, key: c.id.key, cost: c.id.cost, decision: c.d, at: c.at}})
	return nil
}
