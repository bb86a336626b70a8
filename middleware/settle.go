package middleware

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// settleTimeout bounds how long the end of a response waits for the store.
const settleTimeout = 5 * time.Second

// Settles reports whether the Guard needs Settle or Record.
func (g *Guard) Settles() bool { return g.cfg.Settle != nil }

// Settle corrects the charge of r to its real cost. Call it with the request that
// Check returned for r, when the handler has returned or panicked. sent says that
// the status went out, or will, as the handler has returned; otherwise the status is
// 500. Settle does nothing unless the Guard Settles.
func (g *Guard) Settle(r, passed *http.Request, status int, bytes int64, sent bool) {
	m, _ := passed.Context().(*mark)
	if !g.Settles() || r == passed || m == nil || m.booked == nil {
		return
	}
	o := Outcome{Status: status, Bytes: max(0, bytes)}
	switch {
	case !sent:
		o.Status = http.StatusInternalServerError
	case status < 200 && status != http.StatusSwitchingProtocols:
		o.Status = http.StatusOK // None was set, or hints, which the server's 200 follows.
	}
	if r.Method == http.MethodHead {
		o.Bytes = 0
	}
	costs := actualCosts(m.list, passed, o, g.cfg.Settle)
	// Also if the client leaves meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(passed.Context()), settleTimeout)
	defer cancel()
	if err := m.booked.Settle(ctx, costs...); err != nil {
		g.cfg.OnError(r, &fault{kindSettle, err})
	}
}

// actualCosts returns the real cost of each level. It asks actual once for each cost.
func actualCosts(list []weir.Level, passed *http.Request, o Outcome, actual func(*http.Request, Outcome) int64) []int64 {
	costs := make([]int64, len(list))
	for i := range list {
		if list[i].Cost == 0 {
			continue // Nothing was taken, so nothing is corrected.
		}
		same := slices.IndexFunc(list[:i], func(l weir.Level) bool { return l.Cost == list[i].Cost })
		if same >= 0 {
			costs[i] = costs[same]
			continue
		}
		o.Cost = list[i].Cost
		costs[i] = min(actual(passed, o), store.MaxUnits)
	}
	return costs
}

// Record returns a ResponseWriter for a handler, with the abilities of w, and a
// function that calls Settle with the status and the bytes written to it. Call the
// function when the handler has returned or, with ended false, panicked.
func (g *Guard) Record(w http.ResponseWriter, r, passed *http.Request) (rw http.ResponseWriter, settle func(ended bool)) {
	rec := &recorder{ResponseWriter: w}
	return rec.writer(), func(ended bool) { g.Settle(r, passed, rec.status, rec.bytes, ended || rec.sent(r)) }
}
