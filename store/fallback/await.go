package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// decide gets the primary's decision, if it comes in time.
//
// A context that ends says nothing about the primary, so the call goes on without its
// caller until the budget ends. Otherwise callers with less patience than the budget would
// never open the breaker, and each would wait for a silent primary.
func (a *attempt) decide(ctx context.Context) error {
	if st := a.start(ctx); st != nil {
		if err := a.await(ctx, st); err != errAgain && !errors.Is(err, store.ErrLost) {
			return err
		}
	}
	if err := a.await(ctx, a.besides(ctx)); err != nil {
		return err
	}
	a.store.keep(&a.req, &a.d)
	if a.d.Receipt != nil {
		a.d.Receipt = receipt{primary: true, of: a.d.Receipt, at: a.store.clock.now() + a.d.Delay.Microseconds(), charges: a.req.Charges}
	}
	return nil
}

// await waits for a started decision, and reports it.
func (a *attempt) await(ctx context.Context, st store.Started) error {
	select {
	case <-st.Done():
	case <-a.end.Over:
		if !a.end.HeldUp(st.Done(), a.store.cfg.Budget/25) {
			if st.Leave() {
				a.fail(errBudget)
				return errBudget
			}
			<-st.Done()
		}
	case <-ctx.Done():
		select {
		case <-st.Done():
		default:
			go func() { // The outcome still counts.
				if a.await(context.WithoutCancel(ctx), st) == nil {
					a.giveBack(ctx)
				}
			}()
			return ctx.Err()
		}
	}
	var done bool
	if a.d, done, a.err = st.Decision(); !done {
		return errAgain
	}
	if a.err != nil {
		a.d = store.Decision{}
		if time.Until(a.end.At) <= 0 {
			a.err = errBudget // The client has seen the end of this call's context.
		}
	}
	if a.d.Source != store.SourceDenyCache { // Such a decision says nothing about the primary.
		a.report()
	}
	return a.err
}
