package plainstore

import (
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// decide returns the decision on a request from its windows, in the same order.
func decide(req *store.Request, windows []window) store.Decision {
	d := store.Decision{Allowed: true}
	for i := range windows {
		if windows[i].refuses {
			d.Allowed, d.Reason = false, store.ReasonLimited
		}
	}
	if req.NeverFits() >= 0 {
		d.Allowed, d.Reason = false, store.ReasonNeverFits
	}
	if len(windows) > 1 {
		d.Charges = make([]store.ChargeState, len(windows))
	}
	binding, tightest := -1, store.ChargeState{}
	for i := range windows {
		state := windows[i].state()
		if d.Charges != nil {
			d.Charges[i] = state
		}
		if binding < 0 || tighter(d.Allowed, state, windows[i].rate, tightest, windows[binding].rate) {
			binding, tightest = i, state
		}
	}
	d.Scope, d.Limit = req.Charges[binding].Scope, req.Charges[binding].Limit
	d.RetryAfter, d.Remaining, d.ResetAfter = tightest.RetryAfter, tightest.Remaining, tightest.ResetAfter
	return d
}

// state returns the state of the window's limit after the decision.
func (w *window) state() store.ChargeState {
	st := store.ChargeState{Remaining: min(max(w.rate-w.used, 0), w.rate)}
	if w.used > 0 {
		st.ResetAfter = w.rest()
	}
	switch {
	case w.cost > w.rate:
		st.RetryAfter = store.Never
	case w.refuses:
		st.RetryAfter = w.rest()
	}
	return st
}

// tighter reports whether a limit binds more than another: by the longer RetryAfter of a
// refusal, otherwise by the smaller remaining share of its rate.
func tighter(allowed bool, a store.ChargeState, rate int64, b store.ChargeState, other int64) bool {
	if !allowed {
		return a.RetryAfter > b.RetryAfter
	}
	return product.Compare(a.Remaining, other, b.Remaining, rate) < 0
}
