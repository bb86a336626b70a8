package plainstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// decide returns the decision on a request from its windows, in the same order. The process
// has no clock of the server, so instants count from the decision.
func decide(req *store.Request, windows []window) store.Decision {
	var room [maxLimits]exact.Outcome
	outcomes := room[:len(windows)]
	v := exact.Verdict{Allowed: req.NeverFits() < 0}
	for i := range windows {
		w, o := &windows[i], &outcomes[i]
		o.Remaining = min(max(w.rate-w.used, 0), w.rate)
		rest := w.rest().Microseconds()
		if w.used > 0 {
			o.Reset = rest
		}
		if w.refuses {
			v.Allowed, o.Slot = false, rest
			v.Slot = max(v.Slot, rest)
		}
	}
	return exact.Decide(req, &v, outcomes)
}
