package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
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
// job, a task, a query. It returns f's error, or why f was not run. With
// Config.InFlight the call is in flight until f returns or panics.
func (l *Limiter) Do(ctx context.Context, key string, f func(ctx context.Context) error) error {
	lease, err := l.Acquire(ctx, key)
	if err != nil {
		return err
	}
	defer lease.Release()
	return f(ctx)
}

// wait is WaitN with a longest wait of its own; 0: bounded by ctx alone.
func (l *Limiter) wait(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	if ok, err := l.slotNow(ctx, key, cost, nil); ok || err != nil {
		return err
	}
	_, err := l.waitSlot(ctx, key, cost, maxWait, nil)
	return err
}

// grant is what is known of a slot that has come.
type grant struct {
	receipt   any // which handBack takes
	at        store.Instant
	told      time.Duration
	remaining int64
}

func grantOf(d *store.Decision) grant { return grant{d.Receipt, d.At, d.Told, d.Remaining} }

// waitSlot is wait, and returns the slot that has come. The call has to have a
// lease, too, unless claim is nil.
func (l *Limiter) waitSlot(ctx context.Context, key string, cost int64, maxWait time.Duration, claim *claim) (grant, error) {
	if err := l.check(ctx, key, cost); err != nil {
		return grant{}, err
	}
	if !l.enter() {
		return grant{}, l.tooManyWaiters(ctx, key, cost)
	}
	c := waitingCall{
		limiter: l, id: lineID{queueID: queueID{key, cost}}, start: time.Now(), maxWait: maxWait, claim: claim,
	}
	return c.wait(ctx)
}

// wait waits for the slot of a call that was counted by enter.
func (c *waitingCall) wait(ctx context.Context) (grant, error) {
	defer func() {
		if !c.inQueue {
			c.limiter.exit()
		}
	}()
	// The place in the line is taken before the store is asked, so that it
	// holds whatever the network does to the order of the replies.
	c.shard = c.limiter.waits.shard(c.id.key)
	c.arrival = c.shard.arrivals.Add(1)
	if inBackground(ctx) {
		return c.waitBehind(ctx)
	}
	for ; ; c.again = true {
		if again, err := c.book(ctx); !again {
			return c.granted, err
		}
	}
}

// waitingCall is a call of Wait, or one of WaitLevels on one of its levels.
type waitingCall struct {
	limiter *Limiter
	id      lineID
	start   time.Time
	maxWait time.Duration
	shard   *waitShard
	arrival uint64
	inQueue bool           // the queue counts it out
	again   bool           // it has booked before
	d       store.Decision // the last
	at      time.Time      // when d came, if the slot had not come with it
	granted grant
	claim   *claim  // nil: it needs no lease
	level   []Level // the one; nil: a call of Wait
}

// ask has the store decide. A call that has a lease already, and books again,
// needs no other.
func (c *waitingCall) ask(ctx context.Context) (d store.Decision, bound Bound, err error) {
	if c.claim != nil && c.claim.lease == nil {
		c.claim.arrival = c.arrival
		return c.claim.ask(ctx, c.limiter, c.id.queueID, c.start, c.maxWait)
	}
	l := c.limiter
	longest, bound := longestWait(ctx, time.Now(), c.left())
	if c.claim == nil && c.level == nil {
		d, err = l.take(ctx, c.id.key, c.id.cost, l.cfg.Limits, longest, true)
		return d, bound, err
	}
	if err = ctx.Err(); err != nil {
		return d, bound, err
	}
	if c.level != nil {
		d, err = takeLevels(ctx, c.level, longest, true)
	} else {
		err = l.decide(ctx, c.id.key, c.id.cost, l.cfg.Limits, longest, true, &d)
	}
	return d, bound, err
}

// book books a slot and waits for it. It reports true when the slot became void
// meanwhile, because the key was slowed down.
func (c *waitingCall) book(ctx context.Context) (again bool, err error) {
	l, key := c.limiter, c.id.key
	d, bound, err := c.ask(ctx)
	if err == nil {
		c.d = d
		if !d.Allowed {
			err = l.limited(key, d, bound)
		}
	}
	if now := d.Delay <= 0 && ctx.Err() == nil && !c.shard.waitsBefore(c.id, c.arrival); err != nil || now {
		if c.again || c.claim != nil && c.claim.waited {
			c.observe(ctx, err)
		}
		c.granted = grantOf(&d)
		return false, err
	}

	now := time.Now()
	c.at = now
	if err := l.tooLate(ctx, key, d, now); err != nil {
		back := l.surrender(ctx, c.id, d, now)
		c.observe(ctx, err)
		linger(back)
		return false, err
	}
	l.watchBrakes()
	defer l.unwatch()
	w := &waiter{arrival: c.arrival, bound: latest(ctx, c.start, c.maxWait), ready: make(chan struct{})}
	c.inQueue = true
	q := l.join(c.id, w, d, now)
	select {
	case <-w.ready:
	case <-ctx.Done():
		if back, left := q.leave(ctx, w); left {
			err = ctx.Err()
			c.observe(ctx, err)
			linger(back)
			return false, err
		}
	}
	if w.again {
		c.inQueue = false
		return true, nil
	}
	if !l.stillGranted(ctx, q, w.used) {
		l.reenter()
		c.inQueue = false
		return true, nil
	}
	c.observe(ctx, nil)
	c.granted = grantOf(&d)
	c.granted.receipt, c.granted.at = w.used.receipt, w.used.granted
	return false, nil
}

// left returns how much of the longest wait is left, at least a little: what
// the slots that became void were good for.
func (c *waitingCall) left() time.Duration {
	if !c.again || c.maxWait <= 0 {
		return c.maxWait
	}
	return max(c.maxWait-time.Since(c.start), 1)
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
func (l *Limiter) tooLate(ctx context.Context, key string, d store.Decision, now time.Time) error {
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
	d := store.Decision{Reason: TooManyWaiters, Limit: store.Limit(l.cfg.Limits[0]), Scope: l.cfg.Name}
	l.observeDecision(ctx, queueID{key, cost}, &d)
	return l.limited(key, d, BoundNone)
}

// observe tells of the end of a wait. WaitLevels tells of its own.
func (c *waitingCall) observe(ctx context.Context, err error) {
	if hook := c.limiter.cfg.Hook; hook != nil && c.level == nil {
		hook.Observe(ctx, Event{
			Kind: EventWait, Scope: c.limiter.cfg.Name, Key: c.id.key, Cost: c.id.cost,
			Decision: decisionOf(&c.d), Wait: time.Since(c.start), Err: err,
		})
	}
}
