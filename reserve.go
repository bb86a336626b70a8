package weir

import (
	"context"
	"errors"
	"slices"
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
// [Limiter.Reserve] and its like, and from [WaitLevels].
type Reservation struct {
	limiter  *Limiter
	id       line.ID
	decision store.Decision
	at       time.Time
	done     atomic.Bool
	waited   bool           // by a call that waited in line
	levels   []levelBooked  // that were booked together; nil: one Limiter
	parts    []*Reservation // of the levels, if they were booked one after the other
}

// levelBooked is a level's share of a booking.
type levelBooked struct {
	limiter *Limiter
	id      line.ID
	charges int
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
	r, d, late, err := l.book(ctx, id, maxWait)
	switch {
	case err != nil || r != nil:
		return r, err
	case line.InBackground(ctx): // It takes free units or nothing.
		return nil, l.refusal(id, &d, false, 0)
	}
	return nil, l.refusal(id, &d, byDeadline || late, l.maxWait)
}

// ReserveAtMost is [Limiter.ReserveN] for a call that can do with less: it books as
// many units as are free now, from min to max, and [Reservation.Cost] returns their
// number. So a batch takes the rest of a budget, and a prompt's max_tokens are cut to
// it. It never waits. A min below 1 or above max is a *[ConfigError].
//
// A refusal is a Decision, not an error, and its Reservation is nil: min units were
// not free. Every grant is one decision of the store, so concurrent calls never
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
		r, d, _, err := l.book(ctx, line.ID{Key: key, Cost: cost}, 0)
		if err != nil || r != nil || cost == min || d.Reason != store.ReasonLimited {
			return r, decisionOf(&d), err
		}
		cost--
		for i := range l.limits {
			left := d.Charge(i).Remaining
			if line.InBackground(ctx) {
				left -= reserve(l.reserve, &l.rules[i])
			}
			if left < cost {
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
func (l *Limiter) book(ctx context.Context, id line.ID, maxWait time.Duration) (r *Reservation, d store.Decision, late bool, err error) {
	asked, granted := time.Now(), store.Decision{}
	err = l.ask(ctx, &question{ID: id, maxWait: maxWait, cancelable: true, granted: &granted}, l.limits, &d)
	now := time.Now()
	if d.Allowed {
		return &Reservation{limiter: l, id: id, decision: d, at: now}, d, false, nil
	}
	if late = granted.Allowed; late {
		line.Linger(l.lines.Surrender(ctx, id, line.Granted(&granted, l.rules, asked, now)))
	}
	return nil, d, late, err
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

// errZeroReservation is the error of a Reservation that no Limiter has granted.
var errZeroReservation = &store.ConfigError{Field: "Reservation", Want: "one granted by a Limiter", Got: "a zero one"}

// Cancel gives the slot back, for a call that will not be made. The first call
// of Cancel or [Reservation.Settle] acts, later ones do nothing and return nil,
// even after the first failed: units that may be back already are not given
// back again. It returns ErrUnsupported when the store can't.
//
// Cancel the latest of several slots first. Reservations keep their slots, so units in
// front of a later slot may stay booked until that has passed.
//
// An ended context does not stop Cancel, as it is the usual reason; the store then has 5 s.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.limiter == nil {
		return errZeroReservation
	}
	if r.done.Swap(true) {
		return nil
	}
	c, ok := r.limiter.store.(store.Canceler)
	if !ok {
		return store.ErrUnsupported
	}
	if r.parts != nil {
		var errs []error
		for _, part := range slices.Backward(r.parts) { // the widest first
			errs = append(errs, part.Cancel(ctx))
		}
		return errors.Join(errs...)
	}
	r.corrected(0)
	return r.correct(ctx, "cancel", func(ctx context.Context) error { return c.Cancel(ctx, r.decision.Receipt) })
}

// Settle corrects the reserved cost, an estimate, to the call's real cost:
// tokens, points or bytes that are known only afterwards. Less gives units
// back, never more than the burst; more becomes debt that later calls wait for.
// An actual cost of 0 refunds the call. Its exactness is described at
// [store.Settler].
//
// The first call of Settle or [Reservation.Cancel] acts, later ones do nothing
// and return nil, even after the first failed. Settling after the booking has
// lapsed, or after a Reset, changes nothing. The store is not asked when the
// estimate was right, or was 0, which books nothing that could be corrected.
//
// With several levels, one cost is that of each level, and more are one for each, in
// their order. A level that gave no units is not corrected. The Hook of each level's
// Limiter observes its [EventSettled].
//
// A cost below 0 or above MaxUnits, or a wrong number of costs, is a *[ConfigError], after
// which Settle may be called again. Settle returns ErrUnsupported when the store can't. A
// context that is over already does not stop it; the store then has 5 s.
func (r *Reservation) Settle(ctx context.Context, actual ...int64) error {
	if r.limiter == nil {
		return errZeroReservation
	}
	for _, cost := range actual {
		if cost < 0 || cost > store.MaxUnits {
			return &store.ConfigError{Field: "actual cost", Want: "0 to 2^50", Got: strconv.FormatInt(cost, 10)}
		}
	}
	levels := max(1, len(r.levels), len(r.parts))
	if n := len(actual); n != 1 && n != levels {
		return &store.ConfigError{Field: "actual costs", Want: "one, or one for each of " + strconv.Itoa(levels) + " levels", Got: strconv.Itoa(n)}
	}
	s, ok := r.limiter.store.(store.Settler)
	switch {
	case r.done.Swap(true):
		return nil
	case !ok:
		return store.ErrUnsupported
	case r.parts != nil:
		var errs []error
		for i, part := range r.parts {
			errs = append(errs, part.Settle(ctx, actual[min(i, len(actual)-1)]))
		}
		return errors.Join(errs...)
	}
	booked := r.levels
	if booked == nil {
		booked = []levelBooked{{limiter: r.limiter, id: r.id, charges: 1}}
	}
	var costs []int64
	same := true
	for i, level := range booked {
		cost := actual[min(i, len(actual)-1)]
		same = same && (level.id.Cost == 0 || level.id.Cost == cost)
		for range level.charges {
			costs = append(costs, cost)
		}
	}
	if !same {
		r.corrected(costs[0])
		if err := r.correct(ctx, "settle", func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, costs...) }); err != nil {
			return err
		}
	}
	for i, level := range booked {
		if r.decision.Receipt != nil && level.id.Cost > 0 {
			level.limiter.events.show(ctx, level.id, &Event{Kind: EventSettled, Actual: actual[min(i, len(actual)-1)]})
		}
	}
	return nil
}

// corrected gives the real cost of a departed call to the key's line.
func (r *Reservation) corrected(actual int64) {
	if r.waited {
		r.limiter.lines.Correct(r.id.Key, actual-r.id.Cost)
	}
}

// correct makes the store cancel or settle, unless nothing was booked.
func (r *Reservation) correct(ctx context.Context, op string, f func(context.Context) error) error {
	l := r.limiter
	switch {
	case r.decision.Receipt == nil:
		return nil
	case ctx.Err() != nil:
		return l.events.detached(ctx, op, r.id, line.GiveBackTimeout, f)
	}
	began := l.events.begin()
	return l.events.end(ctx, op, r.id, began, store.SourceStore, f(ctx))
}
