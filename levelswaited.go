package weir

import (
	"context"
	"math/bits"
	"time"

	"github.com/goweir/weir/store"
)

// giveBack gives back what was taken, the widest first. A call that was refused
// stays until that is done, as it is decided on once more.
func (w *levelWait) giveBack(ctx context.Context, refused bool) {
	backs := make([]<-chan struct{}, 0, len(w.taken))
	for i := len(w.taken) - 1; i >= 0; i-- {
		alone := w.taken[i].alone
		backs = append(backs, alone.limiter.handBack(ctx, queueID{alone.key, alone.cost}, alone.decision.Receipt))
	}
	for _, back := range backs {
		if !refused || back == nil {
			continue
		}
		select {
		case <-back:
		case <-ctx.Done():
		}
	}
	linger(backs...)
}

// refuseFull makes a refusal one by the level that it is at.
func (w *levelWait) refuseFull(d *store.Decision) {
	i := 0
	for j := range w.at {
		i += len(w.levels[j].limits())
	}
	c, v := d.Charge(i), &w.levels[w.at]
	d.Reason, d.Scope, d.Limit = TooManyWaiters, v.Limiter.cfg.Name, store.Limit(v.limits()[0])
	d.Remaining, d.ResetAfter = c.Remaining, c.ResetAfter
}

// observe tells of the end of the wait.
func (w *levelWait) observe(ctx context.Context, d store.Decision, err error) {
	hook := w.levels[0].Limiter.cfg.Hook
	if hook == nil {
		return
	}
	at := bindingLevel(w.levels, &d)
	switch {
	case err != nil:
		at, d = &w.levels[w.at], w.last
	case !d.Allowed:
		err = at.Limiter.limited(at.Key, d, w.bound)
	}
	hook.Observe(ctx, Event{
		Kind: EventWait, Scope: at.Limiter.cfg.Name, Key: at.Key, Cost: at.cost(), Decision: decisionOf(&d), Wait: time.Since(w.start), Err: err,
	})
}

// decision makes one of those of all levels, as of the instant at which the last
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
				d.Scope, d.Limit, d.Remaining, d.ResetAfter = w.levels[i].Limiter.cfg.Name, store.Limit(limits[j]), c.Remaining, c.ResetAfter
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
