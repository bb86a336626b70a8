package llm

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpbody"
	"github.com/goweir/weir/internal/line"
)

// call is one request on its way. It travels in the request's context, so that the
// body is read once for all limiters.
type call struct {
	key     string
	in, out int64 // the estimate
	booked  *weir.Reservation
	sent    bool // the base has the request
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// quiet returns a hook for the limiters. It sees no refusal and no wait of a question, as a
// call asks again and again, and no decision of the call's Transport: show has those of the
// call.
func quiet(hook weir.Hook) weir.Hook {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, e weir.Event) {
		switch {
		case callOf(ctx) == nil:
		case e.Kind == weir.EventDecision && e.Op != "":
			e.Kind, e.Decision = weir.EventStoreCall, weir.Decision{Source: e.Decision.Source}
		case e.Kind == weir.EventWaitBegin, e.Kind == weir.EventWait, e.Kind == weir.EventDecision && !e.Decision.Allowed:
			return
		}
		hook(ctx, e)
	}
}

// show shows the hook an event of a call.
func show(ctx context.Context, hook weir.Hook, at *weir.Level, e weir.Event) {
	if hook == nil {
		return
	}
	e.Scope, e.Key, e.Cost = at.Limiter.Name(), at.Key, at.Cost
	defer func() {
		if r := recover(); r != nil {
			slog.Error("llm: a Hook panicked", "limiter", e.Scope, "event", e.Kind.String(), "panic", r)
		}
	}()
	hook(ctx, e)
}

// callOf returns the call that a context belongs to; nil: none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// settleTimeout bounds a settlement. No caller waits that long.
const settleTimeout = time.Second

// conclude corrects the call's costs, or gives them back. It waits a moment for that.
// The context may be over.
func (c *call) conclude(ctx context.Context, settle func(context.Context) error) {
	ctx, done := context.WithoutCancel(ctx), make(chan struct{})
	go func() {
		defer close(done)
		// A panic of the store on this goroutine would end the program.
		defer func() { _ = recover() }()
		timed, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		_ = settle(timed) // The limiter's hook sees an error. The estimate stands.
	}()
	line.Linger(done)
}

// fail concludes a call without a response. It cost nothing if it was not sent.
func (c *call) fail(ctx context.Context, err error) {
	if !c.sent || httpbody.NeverSent(err) {
		c.conclude(ctx, c.booked.Cancel)
	}
}

// base marks the requests that it sends.
type base struct{ http.RoundTripper }

func (b base) RoundTrip(req *http.Request) (*http.Response, error) {
	next, err := b.next()
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if c := callOf(req.Context()); c != nil {
		c.sent = true
	}
	return next.RoundTrip(req)
}

// next returns the RoundTripper for the present request.
func (b base) next() (http.RoundTripper, error) {
	if b.RoundTripper != nil {
		return b.RoundTripper, nil
	}
	if _, loop := http.DefaultTransport.(*Transport); loop || http.DefaultTransport == nil {
		return nil, wrong("Base", "a base when http.DefaultTransport is a Transport of this package or nil", "nil")
	}
	return http.DefaultTransport, nil
}

// CloseIdleConnections closes the base's idle connections, if it knows how to.
func (b base) CloseIdleConnections() {
	next, _ := b.next()
	if c, ok := next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
