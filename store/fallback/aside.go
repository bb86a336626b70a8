package fallback

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// aside is an attempt on a goroutine of its own: a client may heed neither its context nor
// a budget. It is a store.Started.
type aside attempt

// besides starts the call. The client's context ends with the patience, so the client
// sends nothing late.
func (a *attempt) besides(ctx context.Context) *aside {
	a.done = make(chan struct{}, 1)
	ctx, a.cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Until(a.end.At)+a.store.cfg.Budget)
	go func() {
		defer a.cancel()
		if a.d, a.err = a.ask(ctx); a.err != nil && ctx.Err() != nil {
			a.err = errBudget
		}
		if a.over.CompareAndSwap(false, true) {
			a.done <- struct{}{}
		} else if a.err == nil {
			a.giveBack(ctx)
		}
	}()
	return (*aside)(a)
}

// Done implements [store.Started], like the methods below.
func (a *aside) Done() <-chan struct{} { return a.done }

func (a *aside) Decision() (d store.Decision, done bool, err error) { return a.d, true, a.err }

func (a *aside) Leave() bool {
	left := a.over.CompareAndSwap(false, true)
	if left {
		a.cancel()
	}
	return left
}
