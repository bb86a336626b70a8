package fallback

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// decision returns the primary's decision, if it comes in time.
//
// A context that ends says nothing about the primary, so the call goes on without its
// caller until the budget ends. Otherwise callers with less patience than the budget would
// never open the breaker, and each would wait for a silent primary.
func (a *attempt) decision(ctx context.Context) (store.Decision, error) {
	if st := a.start(ctx); st != nil {
		done, err := a.await(ctx, st)
		switch {
		case done && err == nil:
			d := a.d
			*a = attempt{}
			attempts.Put(a)
			return d, nil
		case done && !errors.Is(err, store.ErrLost):
			return store.Decision{}, err
		}
		a.recall(time.Now()) // Other calls may have learnt more.
	}
	if _, err := a.await(ctx, a.besides(ctx)); err != nil {
		return store.Decision{}, err
	}
	a.store.keep(&a.req, &a.d)
	if a.d.Receipt != nil {
		at := a.store.clock.now() + a.d.Delay.Microseconds()
		a.d.Receipt = receipt{primary: true, of: a.d.Receipt, at: at, charges: a.req.Charges}
	}
	return a.d, nil
}

// start asks the primary to decide in the background. It returns nil if the primary can't
// do so, or lacks a state of the keys.
func (a *attempt) start(ctx context.Context) (st store.Started) {
	s := a.store
	if s.starter == nil || a.req.Cancelable || a.req.Hold.Asked() || a.owes {
		return nil
	}
	defer func() {
		if recover() != nil {
			st = nil // Take may do better, or shows the panic.
		}
	}()
	a.ctx = a.end.Context(ctx, 2*s.cfg.Budget)
	return s.starter.Start(&a.ctx, s.cfg.Primary, &a.req)
}

// await waits for a started decision, and reports it. done is false when the primary needs
// another call.
func (a *attempt) await(ctx context.Context, st store.Started) (done bool, err error) {
	select {
	case <-st.Done():
	case <-a.end.Over:
		if !a.end.HeldUp(st.Done(), a.store.cfg.Budget/25) {
			if st.Leave() {
				a.fail(errBudget)
				return true, errBudget
			}
			<-st.Done()
		}
	case <-ctx.Done():
		select {
		case <-st.Done():
		default:
			go func() { // The outcome still counts.
				if done, err := a.await(context.WithoutCancel(ctx), st); done && err == nil {
					a.giveBack(ctx)
				}
			}()
			return true, ctx.Err()
		}
	}
	a.d, done, a.err = st.Decision()
	if a.err != nil {
		a.d = store.Decision{}
		ended := func(by error) bool { return errors.Is(a.err, by) }
		if _, ok := st.(*aside); !ok && slices.ContainsFunc([]error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded}, ended) {
			a.err = errBudget // The client sees this call's context alone.
		}
	}
	if done && a.d.Source != store.SourceDenyCache { // Such a decision says nothing about the primary.
		a.report()
	}
	return done, a.err
}

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
		if a.ask(ctx); a.err != nil && ctx.Err() != nil {
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
