package weir

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/goweir/weir/store"
)

// errZeroReservation is the error of a Reservation that no Limiter has granted.
var errZeroReservation = &store.ConfigError{Field: "Reservation", Want: "one granted by a Limiter", Got: "a zero one"}

// Cancel gives the slot back, for a call that will not be made. The first call
// of Cancel or [Reservation.Settle] acts, later ones do nothing and return nil,
// even after the first failed: units that may be back already are not given
// back again. It returns ErrUnsupported when the store can't.
//
// A context that is over already does not stop it, as the end of the context is
// the usual reason to cancel; the store then has 5 s.
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
	if r.levels != nil && r.decision.Receipt == nil {
		return r.cancelLevels(ctx)
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
// With several levels it corrects each level that gave units; see
// [Reservation.SettleLevels].
//
// A cost below 0 or above MaxUnits is a *[ConfigError], after which Settle may
// be called again. Settle returns ErrUnsupported when the store can't. A context
// that is over already does not stop it; the store then has 5 s.
func (r *Reservation) Settle(ctx context.Context, actual int64) error {
	if r.limiter == nil {
		return errZeroReservation
	}
	if err := checkActual(actual); err != nil {
		return err
	}
	if r.levels != nil {
		return r.SettleLevels(ctx, slices.Repeat([]int64{actual}, len(r.levels))...)
	}
	s, ok := r.limiter.store.(store.Settler)
	if r.done.Swap(true) {
		return nil
	}
	if !ok {
		return store.ErrUnsupported
	}
	if actual != r.id.Cost {
		r.corrected(actual)
		settle := func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, actual) }
		if err := r.correct(ctx, "settle", settle); err != nil {
			return err
		}
	}
	if r.decision.Receipt != nil {
		r.limiter.events.settled(ctx, r.id, actual)
	}
	return nil
}

func checkActual(cost int64) error {
	if cost < 0 || cost > store.MaxUnits {
		return &store.ConfigError{Field: "actual cost", Want: "0 to 2^50", Got: strconv.FormatInt(cost, 10)}
	}
	return nil
}

// SettleLevels is [Reservation.Settle] with an actual cost for each level, in their order;
// a reservation without levels takes one cost. For a level that gave no units it changes
// nothing. The Hook of each level's Limiter observes the level's [EventSettled].
func (r *Reservation) SettleLevels(ctx context.Context, actual ...int64) error {
	for _, cost := range actual {
		if err := checkActual(cost); err != nil {
			return err
		}
	}
	n := max(1, len(r.levels))
	if len(actual) != n {
		return &store.ConfigError{Field: "actual costs", Want: "one for each of " + strconv.Itoa(n) + " levels", Got: strconv.Itoa(len(actual))}
	}
	if r.levels == nil {
		return r.Settle(ctx, actual[0])
	}
	s, ok := r.limiter.store.(store.Settler)
	switch {
	case r.done.Swap(true):
		return nil
	case !ok:
		return store.ErrUnsupported
	}
	var costs []int64
	var errs []error
	same := true
	for i, level := range r.levels {
		if level.alone != nil {
			errs = append(errs, level.alone.Settle(ctx, actual[i]))
			continue
		}
		same = same && (level.id.Cost == 0 || level.id.Cost == actual[i])
		for range level.charges {
			costs = append(costs, actual[i])
		}
	}
	if !same {
		settle := func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, costs...) }
		if err := r.correct(ctx, "settle", settle); err != nil {
			return err
		}
	}
	for i, level := range r.levels {
		if r.decision.Receipt != nil && level.id.Cost > 0 {
			level.limiter.events.settled(ctx, level.id, actual[i])
		}
	}
	return errors.Join(errs...)
}

// cancelLevels gives back the units of each level by itself, the widest
// first.
func (r *Reservation) cancelLevels(ctx context.Context) error {
	var errs []error
	for i := len(r.levels) - 1; i >= 0; i-- {
		if alone := r.levels[i].alone; alone != nil {
			errs = append(errs, alone.Cancel(ctx))
		}
	}
	return errors.Join(errs...)
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
		return l.events.detached(ctx, op, r.id, f)
	}
	began := l.events.begin()
	return l.events.end(ctx, op, r.id, began, store.SourceStore, f(ctx))
}
