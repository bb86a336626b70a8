package weir

import (
	"math/bits"
	"time"

	"github.com/goweir/weir/store"
)

// decision merges the decisions on all levels, as of the instant at which the last
// slot came.
func (w *levelWait) decision() store.Decision {
	d := store.Decision{Allowed: true}
	binds := false
	for i := range w.taken {
		alone := w.taken[i].alone
		since, limits := time.Since(alone.at), w.levels[i].limits()
		d.Degraded, d.At = d.Degraded || alone.decision.Degraded, alone.decision.At
		for j := range limits {
			c := alone.decision.Charge(j)
			c.ResetAfter = max(0, c.ResetAfter-since)
			d.Charges = append(d.Charges, c)
			if !binds || smallerShare(c.Remaining, limits[j].Max(), d.Remaining, d.Limit.Max()) {
				binds = true
				d.Scope, d.Limit, d.Remaining, d.ResetAfter = w.levels[i].Limiter.name, store.Limit(limits[j]), c.Remaining, c.ResetAfter
			}
		}
	}
	if len(d.Charges) == 1 {
		d.Charges = nil
	}
	return d
}

// smallerShare reports whether a of all is less than b of whole.
func smallerShare(a, all, b, whole int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(whole))
	h2, l2 := bits.Mul64(uint64(b), uint64(all))
	return h1 < h2 || h1 == h2 && l1 < l2
}
