package weir

import (
	"context"
	"time"
)

// Wait blocks until one unit of key may be used: it books the next slot in one
// call of the store and sleeps until then. Calls of one process with the same
// key and cost go in the order in which they arrived, and share one timer.
//
// It fails at once, and takes nothing, with a *[LimitedError] when the slot
// lies past MaxWait or the deadline of ctx, or when MaxWaiters calls wait
// already. When ctx ends first, Wait gives the slot back and returns the
// context's error: those who wait behind move up. A store that takes longer
// than 20 ms for that finishes in the background.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	return l.WaitN(ctx, key, 1)
}

// WaitN is Wait for a cost.
func (l *Limiter) WaitN(ctx context.Context, key string, cost int64) error {
	return l.wait(ctx, key, cost, l.cfg.MaxWait)
}

// Do waits for one unit of key and then runs f, for work that is not HTTP: a
// job, a task, a query. It returns f's error, or why f was not run.
func (l *Limiter) Do(ctx context.Context, key string, f func(ctx context.Context) error) error {
	if err := l.Wait(ctx, key); err != nil {
		return err
	}
	return f(ctx)
}

// wait is WaitN with a longest wait of its own; 0: bounded by ctx alone.
func (l *Limiter) wait(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	_, err := l.waitSlot(ctx, key, cost, maxWait)
	return err
}

// waitSlot is wait, and returns the receipt of the slot that the call goes in.
func (l *Limiter) waitSlot(ctx context.Context, key string, cost int64, maxWait time.Duration) (receipt any, err error) {
	if err := l.check(ctx, key, cost); err != nil {
		return nil, err
	}
	if !l.enter() {
		return nil, l.tooManyWaiters(ctx, key, cost)
	}
	inQueue := false
	defer func() {
		if !inQueue {
			l.exit()
		}
	}()

	// The place in the line is taken before the store is asked, so that it
	// holds whatever the network does to the order of the replies.
	start := time.Now()
	shard := l.waits.shard(key)
	arrival := shard.arrivals.Add(1)
	longest, bound := longestWait(ctx, start, maxWait)
	d, err := l.take(ctx, key, cost, l.cfg.Limits, longest, true)
	if err != nil {
		return nil, err
	}
	if !d.Allowed {
		return nil, l.limited(key, d, bound)
	}
	id := queueID{key, cost}
	if d.Delay <= 0 && ctx.Err() == nil && !shard.waitsBefore(id, arrival) {
		return d.Receipt, nil
	}

	now := time.Now()
	if err := l.tooLate(ctx, key, d, now); err != nil {
		back := l.surrender(ctx, id, d, now)
		l.observeWait(ctx, id, d, start, err)
		linger(back)
		return nil, err
	}
	w := &waiter{arrival: arrival, bound: latest(ctx, start, maxWait), ready: make(chan struct{})}
	inQueue = true
	q := l.join(id, w, d, now)
	select {
	case <-w.ready:
	case <-ctx.Done():
		if back, left := q.leave(ctx, w); left {
			err = ctx.Err()
			l.observeWait(ctx, id, d, start, err)
			linger(back)
			return nil, err
		}
	}
	l.observeWait(ctx, id, d, start, nil)
	return w.receipt, nil
}

// latest returns the instant after which a call would rather not be admitted;
// the zero time when there is none.
func latest(ctx context.Context, start time.Time, maxWait time.Duration) time.Time {
	at, _ := ctx.Deadline()
	if maxWait > 0 {
		if by := start.Add(maxWait); at.IsZero() || by.Before(at) {
			at = by
		}
	}
	return at
}

// tooLate returns why a slot granted just now can't be used: the round trip to
// the store outlasted ctx, or took so long that the slot is past its deadline.
func (l *Limiter) tooLate(ctx context.Context, key string, d Decision, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && now.Add(d.Delay).After(deadline) {
		d.Reason, d.RetryAfter = Limited, d.Delay
		return l.limited(key, d, BoundDeadline)
	}
	return nil
}

// tooManyWaiters refuses a call without asking the store.
func (l *Limiter) tooManyWaiters(ctx context.Context, key string, cost int64) error {
	d := Decision{Reason: TooManyWaiters, Limit: l.cfg.Limits[0]}
	if l.cfg.Hook != nil {
		l.cfg.Hook.Observe(ctx, Event{Kind: EventDecision, Scope: l.cfg.Name, Key: key, Cost: cost, Decision: d})
	}
	return l.limited(key, d, BoundNone)
}

func (l *Limiter) observeWait(ctx context.Context, id queueID, d Decision, start time.Time, err error) {
	if l.cfg.Hook != nil {
		l.cfg.Hook.Observe(ctx, Event{
			Kind: EventWait, Scope: l.cfg.Name, Key: id.key, Cost: id.cost,
			Decision: d, Wait: time.Since(start), Err: err,
		})
	}
}
