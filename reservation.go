package weir

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Reservation is a granted future slot. Whoever holds it waits for Delay and
// then acts, or gives it back with Cancel. It is safe for concurrent use, and
// comes from [Limiter.Reserve] alone.
type Reservation struct {
	limiter  *Limiter
	key      string
	cost     int64
	decision Decision
	at       time.Time
	done     atomic.Bool
}

// Reserve books the next slot of key, however far away within MaxWait and the
// deadline of ctx, and does not wait for it. A refusal is a *[LimitedError] and
// takes nothing. When ctx ends before the store answers, Reserve returns the
// context's error and gives back what was granted.
//
// The deadline bounds the slot, not only the call: to book a slot further away
// than the call itself may take, reserve with a context without one.
func (l *Limiter) Reserve(ctx context.Context, key string) (*Reservation, error) {
	return l.ReserveN(ctx, key, 1)
}

// ReserveN is Reserve for a cost.
func (l *Limiter) ReserveN(ctx context.Context, key string, cost int64) (*Reservation, error) {
	maxWait, bound := longestWait(ctx, time.Now(), l.cfg.MaxWait)
	d, err := l.take(ctx, key, cost, l.cfg.Limits, maxWait, true)
	if err != nil {
		return nil, err
	}
	if !d.Allowed {
		return nil, l.limited(key, d, bound)
	}
	now := time.Now()
	if err := l.tooLate(ctx, key, d, now); err != nil {
		linger(l.surrender(ctx, queueID{key, cost}, d, now))
		return nil, err
	}
	return &Reservation{limiter: l, key: key, cost: cost, decision: d, at: now}, nil
}

// Delay returns how long to wait from now until the slot; 0 when it has come.
func (r *Reservation) Delay() time.Duration {
	return max(0, r.decision.Delay-time.Since(r.at))
}

// Decision returns the decision that granted the reservation.
func (r *Reservation) Decision() Decision { return r.decision }

// Cancel gives the slot back, for a call that will not be made. The first call
// acts, later ones do nothing and return nil, even after the first failed: what
// has perhaps been given back is not given back again. It returns
// ErrUnsupported when the store can't.
//
// A context that is over already does not stop it, as the end of the context is
// the usual reason to cancel; the store then has 5 s.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.done.Swap(true) {
		return nil
	}
	l, id := r.limiter, queueID{r.key, r.cost}
	c, ok := l.cfg.Store.(Canceler)
	switch {
	case !ok:
		return ErrUnsupported
	case r.decision.Receipt == nil:
		return nil
	case ctx.Err() != nil:
		return l.cancelDetached(ctx, c, id, r.decision.Receipt)
	}
	return l.storeError(ctx, "cancel", r.key, r.cost, c.Cancel(ctx, r.decision.Receipt))
}

// cancelDetached gives a slot back on behalf of a call whose context is over.
func (l *Limiter) cancelDetached(ctx context.Context, c Canceler, id queueID, receipt any) error {
	ctx = context.WithoutCancel(ctx)
	timed, stop := context.WithTimeout(ctx, giveBackTimeout)
	defer stop()
	return l.storeError(ctx, "cancel", id.key, id.cost, c.Cancel(timed, receipt))
}

// longestWait returns the longest delay that a call may be granted, and which
// bound that is.
func longestWait(ctx context.Context, now time.Time, maxWait time.Duration) (time.Duration, Bound) {
	bound := BoundMaxWait
	if maxWait <= 0 {
		maxWait = MaxPeriod / 4
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := deadline.Sub(now); left < maxWait {
			maxWait, bound = max(0, left), BoundDeadline
		}
	}
	return maxWait, bound
}

func (l *Limiter) limited(key string, d Decision, bound Bound) error {
	if d.Reason != Limited {
		bound = BoundNone
	}
	return &LimitedError{Scope: l.cfg.Name, Key: key, Limit: d.Limit, RetryAfter: d.RetryAfter, Reason: d.Reason, Bound: bound}
}

const (
	// giveBackTimeout bounds each call of the store that gives a slot back for
	// a context that is over. When those that failed have taken as long
	// together, what else a queue had to give back is abandoned: its slots go
	// unused, and no limit is exceeded.
	giveBackTimeout = 5 * time.Second
	// giveBackGrace is how long a call whose context has ended stays to see its
	// slot given back. That is time enough for a store that is well, so that a
	// program that ends with its contexts does not cut the give-back off, and
	// too short for a store that is not to hold the caller up.
	giveBackGrace = 20 * time.Millisecond
)

// surplus is a slot on its way back to the store.
type surplus struct {
	ctx     context.Context // of the call that left, for its values
	receipt any
	done    chan struct{}
}

// giveBack has a slot given back, and returns what is closed afterwards; nil
// when there is nothing to do. The shard is locked.
//
// The store is called on a goroutine, one at a time for a queue, so that a
// thousand cancelled calls neither start a thousand goroutines nor spoil each
// other's exact give-back by overtaking.
func (q *queue) giveBack(ctx context.Context, s *slot) <-chan struct{} {
	c, ok := q.limiter.cfg.Store.(Canceler)
	if !ok || s.receipt == nil {
		return nil
	}
	done := make(chan struct{})
	q.surplus = append(q.surplus, surplus{ctx, s.receipt, done})
	if !q.giving {
		q.giving = true
		go q.giveAllBack(c)
	}
	return done
}

func (q *queue) giveAllBack(c Canceler) {
	var failed time.Duration
	for {
		q.shard.mu.Lock()
		batch := q.surplus
		q.surplus = nil
		if len(batch) == 0 {
			q.giving = false
			q.advance()
			q.shard.mu.Unlock()
			return
		}
		q.shard.mu.Unlock()
		for _, s := range batch {
			start := time.Now()
			if failed < giveBackTimeout && !q.giveOneBack(c, s) {
				failed += time.Since(start)
			}
			close(s.done)
		}
	}
}

// giveOneBack reports whether it succeeded. A failure is an event's to tell.
func (q *queue) giveOneBack(c Canceler, s surplus) (ok bool) {
	// On the caller's goroutine a panic is the caller's to handle. On this one
	// it would end the program.
	defer func() {
		if r := recover(); r != nil {
			_ = q.limiter.storeError(context.WithoutCancel(s.ctx), "cancel", q.id.key, q.id.cost, fmt.Errorf("panic: %v", r))
		}
	}()
	return q.limiter.cancelDetached(s.ctx, c, q.id, s.receipt) == nil
}

// linger waits until a give-back is done, but not for long.
func linger(back <-chan struct{}) {
	if back == nil {
		return
	}
	timer := time.NewTimer(giveBackGrace)
	defer timer.Stop()
	select {
	case <-back:
	case <-timer.C:
	}
}
