package dashboard

import (
	"context"
	"time"

	"github.com/goweir/weir"
)

// hook turns the events of this process into counts, waits and notes.
type hook struct {
	names     namer
	counts    counts
	waits     waits
	hot       hot
	notes     notes
	budgets   budgets
	fallbacks fallbacks
	reasons   reasons
}

// Observe implements weir.Hook.
func (h *hook) Observe(_ context.Context, e weir.Event) {
	now := time.Now()
	h.counts.tick(now)
	l := h.counts.of(e.Scope)
	h.counts.seen.Store(true)
	k := fullKey{e.Scope, e.Key}
	switch e.Kind {
	case weir.EventDecision:
		h.decided(l, k, &e.Decision, now)
	case weir.EventStoreError:
		l.errors.Add(1)
		h.notes.add("error "+e.Scope, levelFault, e.Scope+": "+e.Err.Error())
	case weir.EventLeaseLost:
		h.notes.add("lost "+e.Scope, levelWarning, e.Scope+": a call in flight of "+h.names.show(e.Key)+" is not counted any more")
	}
}

func (h *hook) decided(l *limiterCounts, k fullKey, d *weir.Decision, now time.Time) {
	if d.Degraded {
		l.degraded.Add(1)
	}
	if d.Allowed {
		l.admitted.Add(1)
	} else {
		l.refused[min(int(d.Reason), maxReason-1)].Add(1)
	}
	h.hot.add(k, !d.Allowed, now)
}
