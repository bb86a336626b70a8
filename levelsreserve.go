package weir

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// ReserveLevels is [AllowLevels] for a call that is perhaps not made, or whose
// cost is corrected afterwards: Cancel gives back what was taken of all levels,
// Settle and SettleLevels correct it. The slot is now, or there is none: the
// Reservation has no Delay. To wait for one, use [WaitLevels].
//
// A refusal is a Decision, not an error, and comes without a Reservation. When
// ctx ends before the store answers, ReserveLevels returns the context's error
// and gives back what was granted.
func ReserveLevels(ctx context.Context, levels ...Level) (*Reservation, Decision, error) {
	if err := checkLevels(ctx, levels); err != nil {
		return nil, Decision{}, err
	}
	r, d, err := reserveLevels(ctx, levels)
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	return r, decisionOf(&d), err
}

// reserveLevels takes of all levels at once, now.
func reserveLevels(ctx context.Context, levels []Level) (*Reservation, store.Decision, error) {
	d, err := takeLevels(ctx, levels, true)
	if err != nil || !d.Allowed {
		return nil, d, err
	}
	if err := ctx.Err(); err != nil {
		first := levels[0].Limiter
		line.Linger(first.lines.HandBack(ctx, levels[0].id(), d.Receipt))
		return nil, store.Decision{}, err
	}
	return reserved(levels, d, time.Now()), d, nil
}

// reserved returns the reservation of what was taken of levels at once.
func reserved(levels []Level, d store.Decision, now time.Time) *Reservation {
	taken := make([]levelTaken, len(levels))
	for i := range levels {
		taken[i] = levelTaken{cost: levels[i].cost(), charges: len(levels[i].limits())}
	}
	return &Reservation{limiter: levels[0].Limiter, id: levels[0].id(), decision: d, at: now, levels: taken}
}

// levelTaken is what a reservation took of a level.
type levelTaken struct {
	cost    int64
	charges int
	alone   *Reservation // taken by itself; nil: together with the others
}

// SettleLevels is [Reservation.Settle] with an actual cost for each level, in
// their order; there is one of a reservation that is not of levels. What is
// settled for a level of which nothing was taken changes nothing.
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
		same = same && (level.cost == 0 || level.cost == actual[i])
		for range level.charges {
			costs = append(costs, actual[i])
		}
	}
	if same {
		return errors.Join(errs...)
	}
	return r.correct(ctx, "settle", func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, costs...) })
}

// cancelLevels gives back what was taken of each level by itself, the widest
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
