package weir

import (
	"context"
	"errors"
	"strconv"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Do waits for one unit of key and then runs f, for work that is not HTTP: a
// job, a task, a query. It returns f's error, or why f was not run. With
// Config.InFlight the call is in flight until f returns or panics.
func (l *Limiter) Do(ctx context.Context, key string, f func(ctx context.Context) error) error {
	lease, err := l.Acquire(ctx, key)
	if err != nil {
		return err
	}
	defer lease.Release()
	return f(ctx)
}

// DoN is [Limiter.Do] for work whose cost is known only afterwards: it waits for
// estimate units of key, runs f, and settles the actual cost that f returns.
//
// The actual cost is settled whether or not f's error is nil: work that failed before it
// used anything returns 0, and nothing stays booked. Work that panics stays booked at the
// estimate.
//
// DoN returns f's error, or the reason why f was not run:
//
//	case                                f        booked        error
//	an estimate below 1                 not run  nothing       *ConfigError
//	the store is no store.Settler       not run  nothing       ErrUnsupported
//	actual below 0 or above MaxUnits    run      the estimate  *ConfigError, beside f's
//	the store fails to settle           run      the estimate  f's; the Hook sees the failure
func (l *Limiter) DoN(ctx context.Context, key string, estimate int64, f func(ctx context.Context) (actual int64, err error)) error {
	if l.store == nil {
		return errZeroLimiter
	}
	if !l.CanSettle() {
		return store.ErrUnsupported
	}
	if estimate < 1 {
		return &store.ConfigError{Field: "estimate", Want: "1 or more", Got: strconv.FormatInt(estimate, 10)}
	}
	id := line.ID{Key: key, Cost: estimate}
	g, lease, err := l.acquireSlot(ctx, id, l.maxWait)
	if err != nil {
		return err
	}
	defer lease.Release()
	r := l.taken(id, g.receipt)
	actual, err := f(ctx)
	if wrong := r.Settle(ctx, actual); errors.Is(wrong, store.ErrConfig) {
		return errors.Join(wrong, err)
	}
	return err
}
