package weir

import (
	"context"
	"errors"
	"strconv"

	"github.com/goweir/weir/internal/flight"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// Lease is a call's place among the calls in flight. It is kept up until Release, however
// long the call takes, and comes from [Limiter.Acquire] and its like. It is safe for
// concurrent use.
type Lease struct{ held *flight.Lease }

// noLease belongs to every call of a limiter without Config.InFlight.
var noLease Lease

// leaseOf returns the lease of a granted call.
func leaseOf(g grant, err error) (*Lease, error) {
	switch {
	case err != nil:
		return nil, err
	case g.lease == nil:
		return &noLease, nil
	}
	return &Lease{g.lease}, nil
}

// Acquire waits until one unit of key may be used and one more call may be in
// flight, and takes both at the same time. The call is in flight until the
// lease is released, so release it in every case:
//
//	lease, err := limiter.Acquire(ctx, key)
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
//
// Calls of one process for the same key enter in the order of their arrival. While
// this process holds all leases of the key, they wait without asking the store. While
// other processes hold some, only the first call asks, several times a second. After a
// second it has the next free place. A lease of a process that died ends after Config.Lease.
//
// It fails as [Limiter.Wait] does, and holds nothing then. If MaxWait is over before
// there is room, the error is a *[LimitedError] with ReasonInFlight. Without
// Config.InFlight it is Wait, and releasing does nothing.
func (l *Limiter) Acquire(ctx context.Context, key string) (*Lease, error) {
	return l.AcquireN(ctx, key, 1)
}

// AcquireN is Acquire for a cost. A cost of 0 takes a lease alone.
func (l *Limiter) AcquireN(ctx context.Context, key string, cost int64) (*Lease, error) {
	id := line.ID{Key: key, Cost: cost}
	if l.slotNow(ctx, id, nil) {
		return &noLease, nil
	}
	return leaseOf(l.waitSlot(ctx, id, l.maxWait, true))
}

// TryAcquire is Acquire for a call that does not wait: a *[LimitedError] says why it may
// not be made now. It does not overtake waiting calls. If the room that it needs is that of
// leases which this process has just released, it waits up to 20 ms until they are back.
func (l *Limiter) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	return l.TryAcquireN(ctx, key, 1)
}

// TryAcquireN is TryAcquire for a cost.
func (l *Limiter) TryAcquireN(ctx context.Context, key string, cost int64) (*Lease, error) {
	return leaseOf(l.takeSlot(ctx, line.ID{Key: key, Cost: cost}, false))
}

// Release ends the lease: the call is not in flight any more. The first call acts,
// later ones do nothing. It does not wait: one call of the store in the background
// releases all leases that were released meanwhile. A failed call is tried again until
// the lease has ended by itself.
func (l *Lease) Release() {
	if l != nil {
		l.held.Release()
	}
}

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
	if _, ok := l.store.(store.Settler); !ok {
		return store.ErrUnsupported
	}
	if estimate < 1 {
		return &store.ConfigError{Field: "estimate", Want: "1 or more", Got: strconv.FormatInt(estimate, 10)}
	}
	id := line.ID{Key: key, Cost: estimate}
	g, err := l.waitSlot(ctx, id, l.maxWait, true)
	if err != nil {
		return err
	}
	defer g.lease.Release()
	r := l.taken(id, g.receipt)
	actual, err := f(ctx)
	if wrong := r.Settle(ctx, actual); errors.Is(wrong, store.ErrConfig) {
		return errors.Join(wrong, err)
	}
	return err
}
