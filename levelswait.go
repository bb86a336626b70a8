package weir

import (
	"context"
	"math/bits"
	"time"
)

// WaitLevels is [ReserveLevels] for a call that may wait for at most maxWait, and
// not past the deadline of ctx: it returns when the call's slot has come, so that
// the Reservation has no Delay. With a maxWait of 0 nothing is waited for; one
// below 0 is a *[ConfigError].
//
// What can't be had at once is waited for level by level, the narrowest first, so
// that nobody is held up on a wide level by a call that is still waiting on a
// narrow one; each level is a call of the store, on a cluster as on one server.
// What was booked is given back when a later level refuses or ctx ends; the call
// is then decided on once more, without waiting. No limit is exceeded on the way.
// Calls of the background class do not wait (see [InBackground]).
//
// The Hook of the first level's Limiter is told of the decision that is returned,
// and of the wait if there was any.
func WaitLevels(ctx context.Context, maxWait time.Duration, levels ...Level) (*Reservation, Decision, error) {
	if maxWait < 0 {
		return nil, Decision{}, &ConfigError{Field: "maxWait", Want: "0 or more", Got: maxWait.String()}
	}
	if err := checkLevels(ctx, levels); err != nil {
		return nil, Decision{}, err
	}
	start := time.Now()
	r, d, err := reserveLevels(ctx, levels)
	if err != nil {
		return nil, d, err
	}
	waited := false
	if longest, _ := longestWait(ctx, time.Now(), maxWait); maxWait > 0 && !d.Allowed && !inBackground(ctx) &&
		(d.Reason == Limited || d.Reason == Paused) && d.RetryAfter <= longest {
		waited = true
		w := levelWait{levels: levels, start: start, longest: longest}
		if r, d, err = w.wait(ctx); err == nil && r == nil {
			r, d, err = reserveLevels(ctx, levels)
		}
	}
	if err == nil {
		observeLevels(ctx, levels, d)
	}
	if hook := levels[0].Limiter.cfg.Hook; waited && hook != nil {
		at := bindingLevel(levels, &d)
		hook.Observe(ctx, Event{
			Kind: EventWait, Scope: at.Limiter.cfg.Name, Key: at.Key, Cost: at.cost(), Decision: d, Wait: time.Since(start), Err: err,
		})
	}
	return r, d, err
}

// levelWait is a call that waits for one level after the other.
type levelWait struct {
	levels  []Level
	start   time.Time
	longest time.Duration
	taken   []levelTaken
}

// wait books one level after the other and waits for each slot. It returns no
// reservation, and no error, when a level refuses.
func (w *levelWait) wait(ctx context.Context) (*Reservation, Decision, error) {
	done := false
	// Deferred, so that a panic in a store gives back too.
	defer func() {
		if !done {
			_ = (&Reservation{levels: &w.taken}).cancelLevels(ctx) // The Hook is told when that fails.
		}
	}()
	for i := range w.levels {
		left := w.longest - time.Since(w.start)
		d, err := takeLevels(ctx, w.levels[i:i+1], max(left, 0), true)
		if err != nil || !d.Allowed {
			return nil, Decision{}, err
		}
		alone := reserved(w.levels[i:i+1], d, time.Now())
		alone.levels = nil
		w.taken = append(w.taken, levelTaken{cost: alone.cost, alone: alone})
		if deadline, ok := ctx.Deadline(); ok && alone.at.Add(d.Delay).After(deadline) && ctx.Err() == nil {
			return nil, Decision{}, nil
		}
		if err := sleep(ctx, alone.Delay()); err != nil {
			return nil, Decision{}, err
		}
	}
	done = true
	d := w.decision()
	return &Reservation{limiter: w.levels[0].Limiter, key: w.levels[0].Key, cost: w.levels[0].cost(), decision: d, at: time.Now(), levels: &w.taken}, d, nil
}

// decision makes one of those of all levels, as of the instant at which the last
// slot came.
func (w *levelWait) decision() Decision {
	d := Decision{Allowed: true}
	binds := false
	for i := range w.taken {
		alone := w.taken[i].alone
		since, limits := time.Since(alone.at), w.levels[i].limits()
		d.Degraded, d.At = d.Degraded || alone.decision.Degraded, alone.decision.At
		for j := range limits {
			c := alone.decision.Charge(j)
			c.ResetAfter = max(0, c.ResetAfter-since)
			d.Charges = append(d.Charges, c)
			if !binds || smallerShare(c.Remaining, limits[j].Max(), d.Remaining, d.Limit.Max()) {
				binds = true
				d.Scope, d.Limit, d.Remaining, d.ResetAfter = w.levels[i].Limiter.cfg.Name, limits[j], c.Remaining, c.ResetAfter
			}
		}
	}
	if len(d.Charges) == 1 {
		d.Charges = nil
	}
	return d
}

// smallerShare reports whether a of all is less than b of whole.
func smallerShare(a, all, b, whole int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(whole))
	h2, l2 := bits.Mul64(uint64(b), uint64(all))
	return h1 < h2 || h1 == h2 && l1 < l2
}
