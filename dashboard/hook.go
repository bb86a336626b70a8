package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// hook turns the events of this process into counts, waits, budgets and notes.
type hook struct {
	names     namer
	counts    counts
	calls     calls
	notes     notes
	budgets   latest[budgetName, budget]
	fallbacks latest[string, string] // "open" or "closed"
}

// slowedFor is the time for which the reason of a lower rate is kept: this process does
// not know its end.
const slowedFor = 15 * time.Minute

// Observe is a weir.Hook.
func (h *hook) Observe(_ context.Context, e weir.Event) {
	now := time.Now()
	h.counts.tick(now)
	h.counts.seen.Store(true)
	if e.Kind == weir.EventFallback {
		h.fellBack(&e, now)
		return
	}
	if e.Op != "" && e.Decision.Source == store.SourceStore {
		h.counts.took.add(e.Took)
	}
	l := h.counts.of(e.Scope)
	k := fullKey{e.Scope, e.Key}
	switch e.Kind {
	case weir.EventDecision:
		h.decided(l, k, &e.Decision, now)
	case weir.EventWaitBegin:
		l.waiting.Add(1)
		h.calls.begin(k, now)
	case weir.EventWait:
		l.waiting.Add(-1)
		h.calls.end(k, now.Add(-e.Took))
	case weir.EventStoreCall:
		if errors.Is(e.Err, weir.ErrStore) {
			l.errors.Add(1)
			h.notes.add("error "+e.Scope, levelFault, e.Scope+": "+h.names.cause(e.Err))
		}
	case weir.EventLeaseLost:
		h.note("lost", levelWarning, &e, "a call in flight is not counted any more")
	case weir.EventBudget:
		h.budgets.set(budgetName{e.Scope, shorten(e.Budget.Name)}, budget{e.Budget.Limit, e.Budget.Remaining}, now)
	default:
		h.braked(k, &e, now)
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
	h.calls.add(k, !d.Allowed, now)
}

// braked keeps the reason for a change of a key's pace.
func (h *hook) braked(k fullKey, e *weir.Event, now time.Time) {
	switch e.Kind {
	case weir.EventRefusal:
		text := fmt.Sprintf("the upstream refused with %d", e.Status)
		if e.Pause > 0 {
			text += " and asked for " + e.Pause.Round(time.Millisecond).String()
		}
		h.note("refusal", levelWarning, e, text)
	case weir.EventPaused:
		why := cmp.Or(map[string]string{"upstream": "an upstream asked", "hand": "by hand", "penalty": "a penalty"}[e.By], e.By)
		h.calls.slow(k, why, true, now, now.Add(e.Pause))
		if e.By != "upstream" { // Its refusal is in the log already.
			h.note("paused "+e.By, levelInfo, e, "paused for "+e.Pause.Round(time.Millisecond).String()+", "+why)
		}
	case weir.EventSlowed:
		h.calls.slow(k, "an upstream refused", false, now, now.Add(slowedFor))
	case weir.EventLifted:
		h.calls.slow(k, "", true, now, now)
		if e.By == "hand" {
			h.note("lifted", levelInfo, e, "resumed by hand")
		}
	}
}

func (h *hook) note(kind, level string, e *weir.Event, text string) {
	h.notes.add(kind+" "+e.Scope, level, e.Scope+" "+h.names.show(e.Key)+": "+text)
}

func (h *hook) fellBack(e *weir.Event, now time.Time) {
	after := e.Took.Round(time.Millisecond).String()
	if e.Err != nil {
		h.fallbacks.set(e.Scope, "open", now)
		h.notes.add("away "+e.Scope, levelFault, fmt.Sprintf("%s: the store went away after %s: %s", e.Scope, after, h.names.cause(e.Err)))
	} else {
		h.fallbacks.set(e.Scope, "closed", now)
		h.notes.add("back "+e.Scope, levelInfo, fmt.Sprintf("%s: the store is back after %s", e.Scope, after))
	}
}
