package weir

import (
	"context"
	"errors"
	"strconv"

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
		costs := make([]int64, len(*r.levels))
		for i := range costs {
			costs[i] = actual
		}
		return r.SettleLevels(ctx, costs...)
	}
	s, ok := r.limiter.cfg.Store.(store.Settler)
	if r.done.Swap(true) {
		return nil
	}
	switch {
	case !ok:
		return ErrUnsupported
	case actual == r.cost:
		return nil
	}
	return r.correct(ctx, "settle", func(ctx context.Context) error { return s.Settle(ctx, r.decision.Receipt, actual) })
}

func checkActual(cost int64) error {
	if cost < 0 || cost > store.MaxUnits {
		return &ConfigError{Field: "actual cost", Want: "0 to 2^50", Got: strconv.FormatInt(cost, 10)}
	}
	return nil
}

// correct has the store cancel or settle, if there is anything.
func (r *Reservation) correct(ctx context.Context, op string, f func(context.Context) error) error {
	l := r.limiter
	switch {
	case r.decision.Receipt == nil:
		return nil
	case ctx.Err() != nil:
		return l.detached(ctx, op, queueID{r.key, r.cost}, f)
	}
	return l.storeError(ctx, op, r.key, r.cost, f(ctx))
}

// DoN is [Limiter.Do] for work whose cost is known only afterwards: it waits for
// estimate units of key, runs f, and settles what f says that it used.
//
// What f returns is settled whether or not its error is nil: work that failed
// before it used anything returns 0, and nothing stays booked. Work that panics
// stays booked at the estimate.
//
// DoN returns f's error, or why f was not run. That the store failed to settle
// is not f's failure, and only Config.Hook is told: the estimate then stays
// booked. An actual cost below 0 or above MaxUnits does too, and is a
// *[ConfigError]; f's error, if any, is wrapped beside it. When the store can't
// settle, f is not run and the error is ErrUnsupported; nor is it for an estimate
// below 1, which would book nothing that could be corrected.
func (l *Limiter) DoN(ctx context.Context, key string, estimate int64, f func(ctx context.Context) (actual int64, err error)) error {
	if _, ok := l.cfg.Store.(store.Settler); !ok {
		return ErrUnsupported
	}
	if estimate < 1 {
		return &ConfigError{Field: "estimate", Want: "1 or more", Got: strconv.FormatInt(estimate, 10)}
	}
	g, lease, err := l.acquireSlot(ctx, key, estimate, l.cfg.MaxWait)
	if err != nil {
		return err
	}
	defer lease.Release()
	r := &Reservation{limiter: l, key: key, cost: estimate, decision: store.Decision{Allowed: true, Receipt: g.receipt}}
	actual, err := f(ctx)
	if wrong := r.Settle(ctx, actual); errors.Is(wrong, ErrConfig) {
		return errors.Join(wrong, err)
	}
	return err
}
