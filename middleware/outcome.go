package middleware

import (
	"context"
	"net/http"
	"time"

	"github.com/goweir/weir/store"
)

// Outcome is what became of a request that was served.
type Outcome struct {
	// Status is the response's: 200 when the handler set none, 500 when it
	// panicked before anything went out: some of the body, or the status alone,
	// by a flush. One that panics later, as httputil.ReverseProxy does where a
	// client leaves, has sent its status.
	Status int
	// Bytes is how much of the body was written, before any compression
	// further out, and 0 of a HEAD, which has none. What a handler writes to a
	// hijacked connection is not in it.
	Bytes int64
	// Cost is what the request was charged before it was served, 1 or more.
	Cost int64
}

// OnlyFailures is a Config.Settle for which only requests answered with 400 or
// above cost anything: wrong passwords, say.
func OnlyFailures(_ *http.Request, o Outcome) int64 {
	if o.Status >= 400 {
		return o.Cost
	}
	return 0
}

// OnlySuccesses is a Config.Settle for which requests answered with 400 or
// above cost nothing.
func OnlySuccesses(_ *http.Request, o Outcome) int64 {
	return o.Cost - OnlyFailures(nil, o)
}

// ResponseBytes is a Config.Settle for which a request costs one unit for each
// byte of the response's body.
func ResponseBytes(_ *http.Request, o Outcome) int64 { return o.Bytes }

// Settles reports whether the Guard has to be told what becomes of requests.
func (g *Guard) Settles() bool { return g.cfg.Settle != nil }

// settleTimeout bounds how long the end of a response waits for the store.
const settleTimeout = 5 * time.Second

// Settle corrects what r was charged by how it ended: it is called with the
// request that Check returned for r, when the handler has returned or panicked.
// The status counts if it was sent, or is going to be as the handler has returned.
// It does nothing unless Settles.
func (g *Guard) Settle(r, passed *http.Request, status int, bytes int64, sent bool) {
	m, _ := passed.Context().(*mark)
	if r == passed || m == nil || m.booked == nil {
		return
	}
	o := Outcome{Status: status, Bytes: max(0, bytes), Cost: m.booked.Cost()}
	switch {
	case !sent:
		o.Status = http.StatusInternalServerError
	case status < 200 && status != http.StatusSwitchingProtocols:
		o.Status = http.StatusOK // none was set, or hints, which the server's 200 follows
	}
	if r.Method == http.MethodHead {
		o.Bytes = 0
	}
	var err error
	if m.levels != nil {
		actual := g.actualCosts(passed, m, o)
		ctx, cancel := settling(passed)
		defer cancel()
		err = m.booked.SettleLevels(ctx, actual...)
	} else {
		cost := min(g.cfg.Settle(passed, o), store.MaxUnits)
		ctx, cancel := settling(passed)
		defer cancel()
		err = m.booked.Settle(ctx, cost)
	}
	if err != nil {
		g.tell(r, err)
	}
}

// settling returns the context of a correction, which clients can't cut off by
// leaving.
func settling(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), settleTimeout)
}

// Record returns a ResponseWriter for a handler, with the abilities of w, and what
// calls Settle with what was written to it, when the handler has returned or, with
// ended false, panicked.
func (g *Guard) Record(w http.ResponseWriter, r, passed *http.Request) (rw http.ResponseWriter, settle func(ended bool)) {
	rec := &recorder{ResponseWriter: w}
	return rec.writer(), func(ended bool) { g.Settle(r, passed, rec.status, rec.bytes, ended || rec.sent) }
}

// serve runs a handler and settles what it did.
func (g *Guard) serve(next http.Handler, w http.ResponseWriter, r, passed *http.Request) {
	defer g.Done(r, passed)
	rec, ended := &recorder{ResponseWriter: w}, false
	defer func() { g.Settle(r, passed, rec.status, rec.bytes, ended || rec.sent) }()
	next.ServeHTTP(rec.writer(), passed)
	ended = true
}
