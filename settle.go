package weir

import (
	"context"
	"slices"
	"strconv"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Settle corrects the reserved cost, an estimate, to what the call really cost:
// tokens, points or bytes that are known only afterwards. Less gives units
// back, never more than the burst; more becomes debt that later calls wait for.
// An actual cost of 0 refunds the call. What is exact and what is not is said at
// [store.Settler].
//
// The first call of Settle or [Reservation.Cancel] acts, later ones do nothing
// and return nil, even after the first failed. Settling after the booking has
// lapsed, or after a Reset, changes nothing. The store is not asked when the
// estimate was right, or was 0, which books nothing that could be corrected.
//
// Of several levels it corrects each of which something was taken; see
// [Reservation.SettleLevels].
//
// A cost below 0 or above MaxUnits is a *[ConfigError], after which Settle may
// be called again. Settle returns ErrUnsupported when the store can't. A context
// that is over already does not stop it; the store then has 5 s.
func (r *Reservation) Settle(ctx context.Context, actual int64) error {
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
	switch {
	case !ok:
		return store.ErrUnsupported
	case actual == r.id.Cost:
		return nil
	}
	return r.correct(ctx, "settle", func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, actual) })
}

func checkActual(cost int64) error {
	if cost < 0 || cost > store.MaxUnits {
		return &store.ConfigError{Field: "actual cost", Want: "0 to 2^50", Got: strconv.FormatInt(cost, 10)}
	}
	return nil
}

// taken returns the reservation of a slot that has come, to be settled.
func (l *Limiter) taken(key string, cost int64, g *grant) *Reservation {
	return &Reservation{limiter: l, id: line.ID{Key: key, Cost: cost}, decision: store.Decision{Allowed: true, Receipt: g.receipt}}
}
