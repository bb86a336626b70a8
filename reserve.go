package weir

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Reservation is a granted future slot. Its holder waits for Delay and then acts,
// or gives it back with Cancel. When the cost is known only after the
// act, Settle corrects it. It is safe for concurrent use, and comes from
// [Limiter.Reserve] and its like, and from [ReserveLevels] and [WaitLevels].
type Reservation struct {
	limiter  *Limiter
	id       line.ID
	decision store.Decision
	at       time.Time
	done     atomic.Bool
	levels   []levelTaken // nil: of one Limiter
	waited   bool         // by a call that waited in line
}

// levelTaken is the part of a reservation that one level booked.
type levelTaken struct {
	limiter *Limiter
	id      line.ID
	charges int
	alone   *Reservation // taken by itself; nil: together with the others
}

// Reserve books the next slot of key, however far away within MaxWait and the
// deadline of ctx, and does not wait for it. A refusal is a *[LimitedError] and
// takes nothing. When ctx ends before the store answers, Reserve returns the
// context's error and gives back the granted slot.
//
// A later pause (see [Limiter.Pause]) does not reach the holder of a Reservation, unlike
// a waiting call.
//
// The deadline bounds the slot, not only the call: to book a slot further away
// than the call itself may take, reserve with a context without one.
func (l *Limiter) Reserve(ctx context.Context, key string) (*Reservation, error) {
	return l.ReserveN(ctx, key, 1)
}

// ReserveN is Reserve for a cost.
func (l *Limiter) ReserveN(ctx context.Context, key string, cost int64) (*Reservation, error) {
	id := line.ID{Key: key, Cost: cost}
	maxWait, byDeadline := deadline.Max(ctx, time.Now(), l.maxWait)
	r, d, late, err := l.book(ctx, id, l.limits, maxWait)
	switch {
	case err != nil || r != nil:
		return r, err
	case line.InBackground(ctx): // It takes free units or nothing.
		return nil, l.refusal(id, &d, BoundNone, 0)
	}
	return nil, l.refusal(id, &d, boundOf(byDeadline || late), l.maxWait)
}

// ReserveLimits is [Limiter.AllowLimits] for a call that may wait a little, or
// whose cost is corrected afterwards: it books a slot at most maxWait away, and
// none past the deadline of ctx. With a maxWait of 0 the slot is now or there is
// none; one below 0 is a *[ConfigError]. Nil limits are the limiter's.
//
// A refusal is a Decision, not an error, and comes without a Reservation. When
// ctx ends before the store answers, ReserveLimits returns the context's error
// and gives back the granted slot.
func (l *Limiter) ReserveLimits(ctx context.Context, key string, cost int64, limits []Limit, maxWait time.Duration) (*Reservation, Decision, error) {
	if maxWait < 0 {
		return nil, Decision{}, &store.ConfigError{Field: "maxWait", Want: "0 or more", Got: maxWait.String()}
	}
	if limits == nil {
		limits = l.limits
	} else if err := store.CheckLimits("limits", limits); err != nil {
		return nil, Decision{}, err
	}
	if maxWait > 0 {
		maxWait, _ = deadline.Max(ctx, time.Now(), maxWait)
	}
	r, d, _, err := l.book(ctx, l.lineOf(key, cost, limits), limits, maxWait)
	return r, decisionOf(&d), err
}

// ReserveAtMost is [Limiter.ReserveN] for a call that can do with less: it books as
// many units as are free now, from min to max, and [Reservation.Cost] returns their
// number. So a batch takes the rest of a budget, and a prompt's max_tokens are cut to
// it. It never waits. A min or max that can't be is a *[ConfigError].
//
// A refusal is a Decision, not an error, and comes without a Reservation: min units
// were not free. Every grant is one decision of the store, so concurrent calls never
// take units twice. ReserveAtMost asks the store once if max units are free, and else
// two to four times. The Hook observes each question.
func (l *Limiter) ReserveAtMost(ctx context.Context, key string, min, max int64) (*Reservation, Decision, error) {
	if min < 1 || max < min {
		return nil, Decision{}, &store.ConfigError{Field: "min", Want: "1 to max, " + strconv.FormatInt(max, 10), Got: strconv.FormatInt(min, 10)}
	}
	cost := max
	for i := range l.limits {
		if most := l.limits[i].Max(); most >= min && most < cost {
			cost = most
		}
	}
	for asked := 1; ; asked++ {
		r, d, _, err := l.book(ctx, line.ID{Key: key, Cost: cost}, l.limits, 0)
		if err != nil || r != nil || cost == min || d.Reason != store.ReasonLimited {
			return r, decisionOf(&d), err
		}
		cost--
		for i := range l.limits {
			if left := d.Charge(i).Remaining; left < cost {
				cost = left
			}
		}
		if cost < min || asked == 3 {
			cost = min // Others were faster. The last question is about the minimum.
		}
	}
}

// book books a slot at most maxWait away. A refusal comes without a Reservation;
// late: the slot was granted so late that it lies past the deadline.
func (l *Limiter) book(ctx context.Context, id line.ID, limits []Limit, maxWait time.Duration) (r *Reservation, d store.Decision, late bool, err error) {
	err = l.ask(ctx, &question{ID: id, maxWait: maxWait, cancelable: true}, limits, &d)
	if err != nil || !d.Allowed {
		return nil, d, false, err
	}
	now := time.Now()
	ended := ctx.Err()
	if ended == nil && !deadline.Passed(ctx, d.Delay, now) {
		return &Reservation{limiter: l, id: id, decision: d, at: now}, d, false, nil
	}
	line.Linger(l.lines.Surrender(ctx, id, line.Granted(&d, l.stored(limits), now, now)))
	if ended != nil {
		return nil, store.Decision{}, false, ended
	}
	d.Allowed, d.Reason, d.RetryAfter, d.Delay, d.Receipt = false, store.ReasonLimited, d.Delay, 0, nil
	return nil, d, true, nil
}

// Delay returns how long to wait from now until the slot; 0 when it has come.
func (r *Reservation) Delay() time.Duration {
	return max(0, r.decision.Delay-time.Since(r.at))
}

// Decision returns the decision that granted the reservation.
func (r *Reservation) Decision() Decision { return decisionOf(&r.decision) }

// Cost returns how many units were reserved; of several levels, of the first.
func (r *Reservation) Cost() int64 { return r.id.Cost }

// taken returns the reservation of a slot that has come, to be settled.
func (l *Limiter) taken(id line.ID, receipt any) *Reservation {
	return &Reservation{limiter: l, id: id, decision: store.Decision{Allowed: true, Receipt: receipt}, waited: true}
}
