package weir

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// Reservation is a granted future slot. Whoever holds it waits for Delay and
// then acts, or gives it back with Cancel. When the cost is known only after the
// act, Settle corrects it. It is safe for concurrent use, and comes from
// [Limiter.Reserve] and its like, and from [ReserveLevels] and [WaitLevels].
type Reservation struct {
	limiter  *Limiter
	key      string
	cost     int64
	decision store.Decision
	at       time.Time
	done     atomic.Bool
	levels   *[]levelTaken // nil: of one Limiter
}

// Reserve books the next slot of key, however far away within MaxWait and the
// deadline of ctx, and does not wait for it. A refusal is a *[LimitedError] and
// takes nothing. When ctx ends before the store answers, Reserve returns the
// context's error and gives back what was granted.
//
// Whoever holds a Reservation does not hear of a pause that is set afterwards
// (see [Limiter.Pause]), as calls that wait do.
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
		if inBackground(ctx) {
			bound = BoundNone // It takes what is free now or nothing.
		}
		return nil, l.limited(key, d, bound)
	}
	now := time.Now()
	if err := l.tooLate(ctx, key, d, now); err != nil {
		linger(l.surrender(ctx, lineID{queueID: queueID{key, cost}}, d, now))
		return nil, err
	}
	return &Reservation{limiter: l, key: key, cost: cost, decision: d, at: now}, nil
}

// Delay returns how long to wait from now until the slot; 0 when it has come.
func (r *Reservation) Delay() time.Duration {
	return max(0, r.decision.Delay-time.Since(r.at))
}

// Decision returns the decision that granted the reservation.
func (r *Reservation) Decision() Decision { return decisionOf(&r.decision) }

// Cancel gives the slot back, for a call that will not be made. The first call
// of Cancel or [Reservation.Settle] acts, later ones do nothing and return nil,
// even after the first failed: what has perhaps been given back is not given
// back again. It returns ErrUnsupported when the store can't.
//
// A context that is over already does not stop it, as the end of the context is
// the usual reason to cancel; the store then has 5 s.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.done.Swap(true) {
		return nil
	}
	c, ok := r.limiter.cfg.Store.(store.Canceler)
	if !ok {
		return ErrUnsupported
	}
	if r.levels != nil && r.decision.Receipt == nil {
		return r.cancelLevels(ctx)
	}
	return r.correct(ctx, "cancel", func(ctx context.Context) error { return c.Cancel(ctx, r.decision.Receipt) })
}

// longestWait returns the longest delay that a call may be granted, and which
// bound that is.
func longestWait(ctx context.Context, now time.Time, maxWait time.Duration) (time.Duration, Bound) {
	bound := BoundMaxWait
	if maxWait <= 0 {
		maxWait = store.MaxPeriod / 4
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := deadline.Sub(now); left < maxWait {
			maxWait, bound = max(0, left), BoundDeadline
		}
	}
	return maxWait, bound
}

func (l *Limiter) limited(key string, d store.Decision, bound Bound) error {
	if d.Reason != Limited && d.Reason != Paused && d.Reason != InFlight {
		bound = BoundNone
	}
	return &LimitedError{Scope: l.cfg.Name, Key: key, Limit: Limit(d.Limit), RetryAfter: d.RetryAfter, Reason: d.Reason, Bound: bound}
}
