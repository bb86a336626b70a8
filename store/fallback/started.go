package fallback

import (
	"context"
	"errors"
	"os"

	"github.com/goweir/weir/store"
)

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
	a.ctx = endingContext{of: ctx, end: a.end, deadline: a.end.at.Add(2 * s.cfg.Budget)}
	return s.starter.Start(&a.ctx, s.cfg.Primary, &a.req)
}

// await returns the started decision. done is false when the primary needs another call.
func (a *attempt) await(ctx context.Context, st store.Started) (d store.Decision, done bool, err error) {
	answered := false
	select {
	case <-st.Done():
		answered = true
	case <-a.end.over:
		if answered = a.heldUp(st.Done()); !answered && st.Leave() {
			a.fail(errBudget)
			return d, true, errBudget
		}
	case <-ctx.Done():
		select {
		case <-st.Done():
			answered = true
		default:
			go a.outlive(st)
			return d, true, ctx.Err()
		}
	}
	if !answered {
		<-st.Done()
	}
	if done = a.take(st); done {
		a.report()
	}
	if done = done && !errors.Is(a.err, store.ErrLost); !done {
		a.recall() // Other calls may have learnt more.
	}
	return a.d, done, a.err
}

// outlive waits in place of a caller that has left: the outcome still counts.
func (a *attempt) outlive(st store.Started) {
	select {
	case <-st.Done():
	case <-a.end.over:
		if st.Leave() {
			a.fail(errBudget)
			return
		}
		<-st.Done()
	}
	if a.take(st) {
		a.report()
	}
}

// take stores the answer of a started call.
func (a *attempt) take(st store.Started) (done bool) {
	if a.d, done, a.err = st.Decision(); a.err == nil {
		return done
	}
	a.d = store.Decision{}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(a.err, ended) {
			a.err = errBudget // The client sees this call's context alone.
		}
	}
	return done
}
