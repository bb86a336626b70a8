package weir

import (
	"context"
	"sync/atomic"
	"time"
)

// Reservation is a granted future slot. Whoever holds it waits for Delay and
// then acts, or gives it back with Cancel.
type Reservation struct {
	limiter  *Limiter
	key      string
	cost     int64
	decision Decision
	at       time.Time
	done     atomic.Bool
}

// Reserve books the next slot of key, however far away within MaxWait and the
// deadline of ctx, and does not wait for it. A refusal is a *[LimitedError].
func (l *Limiter) Reserve(ctx context.Context, key string) (*Reservation, error) {
	return l.ReserveN(ctx, key, 1)
}

// ReserveN is Reserve for a cost.
func (l *Limiter) ReserveN(ctx context.Context, key string, cost int64) (*Reservation, error) {
	maxWait, bound := l.longestWait(ctx, l.cfg.MaxWait)
	d, err := l.take(ctx, key, cost, l.cfg.Limits, maxWait, true)
	if err != nil {
		return nil, err
	}
	if !d.Allowed {
		return nil, l.limited(key, d, bound)
	}
	return &Reservation{limiter: l, key: key, cost: cost, decision: d, at: time.Now()}, nil
}

// Delay returns how long to wait from now until the slot; 0 when it has come.
func (r *Reservation) Delay() time.Duration {
	return max(0, r.decision.Delay-time.Since(r.at))
}

// Decision returns the decision that granted the reservation.
func (r *Reservation) Decision() Decision { return r.decision }

// Cancel gives the slot back, for a call that will not be made. The first call
// acts, later ones do nothing. It returns ErrUnsupported when the store can't.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.done.Swap(true) {
		return nil
	}
	return r.limiter.cancel(ctx, r.key, r.cost, r.decision)
}

// cancel gives back what a decision granted.
func (l *Limiter) cancel(ctx context.Context, key string, cost int64, d Decision) error {
	c, ok := l.cfg.Store.(Canceler)
	if !ok {
		return ErrUnsupported
	}
	if d.Receipt == nil {
		return nil
	}
	return l.storeError(ctx, "cancel", key, cost, c.Cancel(ctx, d.Receipt))
}

// longestWait returns the longest delay that a call may be granted, and which
// bound that is.
func (l *Limiter) longestWait(ctx context.Context, maxWait time.Duration) (time.Duration, Bound) {
	bound := BoundMaxWait
	if maxWait <= 0 {
		maxWait = MaxPeriod / 4
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left < maxWait {
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
