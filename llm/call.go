package llm

import (
	"context"
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

func withCall(req *http.Request, c *call) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), callKey{}, c))
}

// callOf returns the call of a request that a Transport has admitted.
func callOf(req *http.Request) *call { return req.Context().Value(callKey{}).(*call) }

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
		return nil, err
	}
	callOf(req).sent = true
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
	next, err := b.next()
	if err != nil {
		return
	}
	if c, ok := next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
