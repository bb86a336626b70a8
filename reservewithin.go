package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// ReserveWithin is [Limiter.AllowLimits] for a call that may wait a little, or
// whose cost is corrected afterwards: it books a slot at most maxWait away, and
// none past the deadline of ctx. With a maxWait of 0 the slot is now or there is
// none; one below 0 is a *[ConfigError]. Nil limits are the limiter's.
//
// A refusal is a Decision, not an error, and comes without a Reservation. When
// ctx ends before the store answers, ReserveWithin returns the context's error
// and gives back what was granted.
func (l *Limiter) ReserveWithin(ctx context.Context, key string, cost int64, limits []Limit, maxWait time.Duration) (*Reservation, Decision, error) {
	if maxWait < 0 {
		return nil, Decision{}, &ConfigError{Field: "maxWait", Want: "0 or more", Got: maxWait.String()}
	}
	switch {
	case limits == nil:
		limits = l.cfg.Limits
	default:
		if err := store.CheckLimits("limits", limits); err != nil {
			return nil, Decision{}, err
		}
	}
	longest := time.Duration(0)
	if maxWait > 0 {
		longest, _ = longestWait(ctx, time.Now(), maxWait)
	}
	d, err := l.take(ctx, key, cost, limits, longest, true)
	if err != nil || !d.Allowed {
		return nil, decisionOf(&d), err
	}
	now := time.Now()
	if err := l.tooLate(ctx, key, d, now); err != nil {
		linger(l.surrender(ctx, l.line(queueID{key, cost}, limits), d, now))
		if ctx.Err() != nil {
			return nil, Decision{}, ctx.Err()
		}
		d.Allowed, d.Reason, d.RetryAfter, d.Delay, d.Receipt = false, Limited, d.Delay, 0, nil
		return nil, decisionOf(&d), nil
	}
	return &Reservation{limiter: l, key: key, cost: cost, decision: d, at: now}, decisionOf(&d), nil
}

// CanSettle reports whether the store is a [store.Settler], which corrects what a call
// cost as [Reservation.Settle] asks it to. A redisstore without scripts is one
// too, whose every such call fails with ErrUnsupported.
func (l *Limiter) CanSettle() bool {
	_, ok := l.cfg.Store.(store.Settler)
	return ok
}

// InFlight returns the Config's InFlight: the most calls of a key that may be in
// flight at once, or 0, when calls have no end.
func (l *Limiter) InFlight() int64 { return l.cfg.InFlight }

// MaxPause returns the longest that [Limiter.Pause] pauses a key for; 0 when
// the store is no [store.Braker]. A redisstore without scripts is one, though its
// Pause fails with ErrUnsupported.
func (l *Limiter) MaxPause() time.Duration {
	if _, ok := l.cfg.Store.(store.Braker); !ok {
		return 0
	}
	return l.cfg.MaxPause
}
