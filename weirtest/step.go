package weirtest

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/store"
)

// Step decides one call of a Store's Take; base is the wrapped store. The functions
// below return the usual steps. Any other function will do.
type Step func(ctx context.Context, req store.Request, base store.Store) (store.Decision, error)

// errFail is the error of a Fail or a Lose without one.
var errFail = errors.New("weirtest: the store fails on command")

// Pass lets the wrapped store decide.
func Pass() Step {
	return func(ctx context.Context, req store.Request, base store.Store) (store.Decision, error) {
		return base.Take(ctx, req)
	}
}

// Refuse refuses every request, even one that would wait for retryAfter. The reason
// is store.ReasonLimited, and store.ReasonNeverFits with a retryAfter of store.Never. The
// wrapped store is not asked, and nothing is held.
func Refuse(retryAfter time.Duration) Step {
	reason := store.ReasonLimited
	if retryAfter == store.Never {
		reason = store.ReasonNeverFits
	}
	return RefuseAs(reason, retryAfter)
}

// RefuseAs is Refuse with another reason, such as store.ReasonPaused. With store.ReasonInFlight
// the hold refuses, and the limits are unused.
func RefuseAs(reason store.Reason, retryAfter time.Duration) Step {
	return func(_ context.Context, req store.Request, _ store.Store) (store.Decision, error) {
		return refusal(req, reason, max(0, retryAfter)), nil
	}
}

// Grant allows a request after a delay. A request that would not wait for so long
// is refused, with the delay as RetryAfter. The wrapped store is not asked: it
// reports a lease from Grant as lost at the first renewal.
func Grant(delay time.Duration) Step {
	return func(_ context.Context, req store.Request, _ store.Store) (store.Decision, error) {
		if delay > req.MaxWait {
			return refusal(req, store.ReasonLimited, delay), nil
		}
		d := grant(req)
		d.Delay = max(0, delay)
		return d, nil
	}
}

// Decide returns d for every request. The wrapped store is not asked.
func Decide(d store.Decision) Step {
	return func(context.Context, store.Request, store.Store) (store.Decision, error) { return d, nil }
}

// Fail returns err. Nil: an error of this package. The wrapped store is not asked.
func Fail(err error) Step {
	err = cmp.Or(err, errFail)
	return func(context.Context, store.Request, store.Store) (store.Decision, error) {
		return store.Decision{}, err
	}
}

// Lose lets the wrapped store decide and charge, and then returns err as Fail does:
// the answer is lost on its way.
func Lose(err error) Step {
	fail := Fail(err)
	return func(ctx context.Context, req store.Request, base store.Store) (store.Decision, error) {
		if _, err := base.Take(ctx, req); err != nil {
			return store.Decision{}, err
		}
		return fail(ctx, req, base)
	}
}

// After waits for d, then takes the step; nil: Pass. If the context ends first, it
// returns the context's error.
func After(d time.Duration, step Step) Step {
	if step == nil {
		step = Pass()
	}
	return func(ctx context.Context, req store.Request, base store.Store) (store.Decision, error) {
		if err := deadline.Sleep(ctx, d); err != nil {
			return store.Decision{}, err
		}
		return step(ctx, req, base)
	}
}

// Block waits for the end of the context and returns its error, like a store that
// never answers. A context that never ends blocks for ever.
func Block() Step {
	return func(ctx context.Context, _ store.Request, _ store.Store) (store.Decision, error) {
		<-ctx.Done()
		return store.Decision{}, ctx.Err()
	}
}

// refusal returns a decision with nothing remaining, or without room in flight.
func refusal(req store.Request, reason store.Reason, retryAfter time.Duration) store.Decision {
	if reason == store.ReasonInFlight {
		d := grant(req)
		d.Allowed, d.Reason, d.RetryAfter, d.Receipt = false, reason, retryAfter, nil
		return d
	}
	d := store.Decision{Reason: reason, RetryAfter: retryAfter, Limit: req.Charges[0].Limit, Scope: req.Charges[0].Scope}
	if retryAfter != store.Never {
		d.ResetAfter = retryAfter
	}
	if len(req.Charges) > 1 {
		d.Charges = make([]store.ChargeState, len(req.Charges))
		for i := range d.Charges {
			d.Charges[i] = store.ChargeState{ResetAfter: d.ResetAfter, RetryAfter: retryAfter}
		}
	}
	return d
}

// grant returns a decision with nothing used.
func grant(req store.Request) store.Decision {
	limit := req.Charges[0].Limit
	d := store.Decision{Allowed: true, Limit: limit, Scope: req.Charges[0].Scope, Remaining: limit.Max()}
	if len(req.Charges) > 1 {
		d.Charges = make([]store.ChargeState, len(req.Charges))
		for i := range d.Charges {
			d.Charges[i].Remaining = req.Charges[i].Limit.Max()
		}
	}
	if req.Cancelable {
		d.Receipt = receipt{}
	}
	return d
}

// receipt stands for units that were never charged.
type receipt struct{}

// allowAll is a store that allows everything and counts nothing. Its brakes and
// leases do nothing.
type allowAll struct{}

func (allowAll) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	return grant(req), nil
}

func (allowAll) Cancel(context.Context, any) error                         { return nil }
func (allowAll) Settle(context.Context, any, ...int64) error               { return nil }
func (allowAll) Reset(context.Context, string, string) error               { return nil }
func (allowAll) Brake(context.Context, []store.Charge, store.Brake) error  { return nil }
func (allowAll) Release(context.Context, string, string, ...string) error  { return nil }
func (allowAll) WatchBrakes(func(string, string, store.Clock)) store.Watch { return noBrakes{} }
func (allowAll) Renew(context.Context, string, string, time.Duration, ...string) ([]string, error) {
	return nil, nil
}

// noBrakes watches a store without brakes: it misses none.
type noBrakes struct{}

func (noBrakes) Covers(time.Time) bool { return true }
func (noBrakes) Stop()                 {}
