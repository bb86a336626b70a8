// Package retry sends HTTP requests again after a failure that may pass.
//
// A [Transport] goes around a [weir.Transport], so that every attempt is
// admitted, charged and slowed down like a request of its own:
//
//	http.Client → retry.Transport → weir.Transport → http.Transport
//
// # Which outcomes are tried again
//
//	Outcome                              Tried again
//	429, or a refusal with another 4xx   with any method: the request was not processed
//	another status of Config.Statuses    idempotent requests
//	a refusal with 5xx                   idempotent requests
//	an error of the base                 idempotent requests, unless the error would come again
//	a hint "false"                       never
//	a hint "true", status 400 or above   with any method
//	402, or a refusal that no wait ends  never, without a hint (see upstream.Signal.NoRetry)
//
// Hints are the headers X-Should-Retry and Stripe-Should-Retry. A limit refuses with other
// statuses too, as 403 with Retry-After (see upstream.Signal).
// Idempotent are GET, HEAD, OPTIONS, TRACE, PUT, DELETE, and requests with an
// Idempotency-Key or X-Idempotency-Key. Errors that would come again are those of
// weir itself, an untrusted certificate, and the end of the request's context.
//
// A request with a body needs GetBody, which http.NewRequest sets for
// bytes.Buffer, bytes.Reader and strings.Reader. A request with a Trailer is sent
// once.
//
// # The outcome
//
// The caller gets the last outcome. A response that no attempt replaces is
// unchanged and unread. A pause that the context's deadline or MaxWait does not
// allow is not begun, and neither is an attempt beyond Max or Budget. If the
// context ends during a pause, the error is the context's.
package retry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/deadline"
)

// maxRefusals bounds how often one attempt is asked for again after a
// *weir.LimitedError.
const maxRefusals = 3

// Attempt describes a further attempt.
type Attempt struct {
	Number int           // 2 for the first further attempt
	Pause  time.Duration // before the attempt
	Status int           // of the response that the attempt replaces; 0: there was none
	Err    error         // the attempt's cause if there was no response
}

// Transport is an [http.RoundTripper] that tries requests again. It is safe for
// concurrent use. The first attempt sends the request itself, each further one a
// clone. Transport reads up to 4 KiB of a response before it closes and replaces
// it, so that the connection can be used again.
//
// The errors are those of the base, the context's error after a pause that the
// context has cut, and *weir.ConfigError from a Transport that New did not make.
//
// If the base refuses a further attempt with a *weir.LimitedError, Transport waits
// for its RetryAfter and asks again, up to three times, within the same bounds as
// any pause. Otherwise the refusal is the outcome.
type Transport struct {
	base    http.RoundTripper // nil in a zero Transport
	max     int
	policy  policy
	budget  budget
	veto    func(*http.Request, *http.Response, error) bool
	observe func(*http.Request, Attempt)
}

// RoundTrip sends the request, and again after an outcome that may pass. As
// http.RoundTripper demands, it never changes the request and always closes its
// body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.base == nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &weir.ConfigError{Field: "retry.Transport", Want: "one made by New", Got: "a zero one"}
	}
	t.budget.earn()
	c := call{t: t, req: req}
	// Deferred, so that a panic in a function of Config or in GetBody leaves no
	// body open.
	defer c.abandon()
	c.send(req)
	for n := 1; n <= t.max && c.again(n); n++ {
	}
	resp := c.resp
	c.resp = nil // the caller's to close
	return resp, c.err
}

// CloseIdleConnections closes the idle connections of a base that can do so.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// call is one RoundTrip under way.
type call struct {
	t    *Transport
	req  *http.Request  // the caller's
	resp *http.Response // the last outcome: resp or err
	err  error
	body io.ReadCloser // of the next attempt, until that is sent
}

// again replaces the last outcome by that of the n-th further attempt. It returns
// false if the outcome is final.
func (c *call) again(n int) bool {
	ctx, t := c.req.Context(), c.t
	pause, ok := t.policy.again(n, c.req, c.resp, c.err)
	if !ok || !t.policy.fits(ctx, pause) || t.veto != nil && t.veto(c.req, c.resp, c.err) || !t.budget.take() || !c.rewind() {
		return false
	}
	attempt, start := Attempt{Number: n + 1, Pause: pause, Err: c.err}, time.Now()
	if c.resp != nil {
		attempt.Status = c.resp.StatusCode
		discard(ctx, c.resp, pause)
		c.resp = nil
	}
	if c.err = c.sleep(pause - time.Since(start)); c.err != nil {
		return false
	}
	if t.observe != nil {
		t.observe(c.req, attempt)
	}
	for refusals := 0; ; refusals++ {
		next := c.req.Clone(ctx)
		next.Body, c.body = c.body, nil
		c.send(next)
		limited, ok := errors.AsType[*weir.LimitedError](c.err)
		if !ok || refusals == maxRefusals || limited.RetryAfter <= 0 || limited.Reason == weir.ReasonNeverFits ||
			!t.policy.fits(ctx, limited.RetryAfter) || !c.rewind() {
			return true
		}
		if ended := c.sleep(limited.RetryAfter); ended != nil {
			c.err = ended
			return false
		}
	}
}

// send makes an attempt. It holds a base to the contract of http.RoundTripper:
// a response or an error.
func (c *call) send(req *http.Request) {
	c.resp, c.err = c.t.base.RoundTrip(req)
	switch {
	case c.err != nil:
		c.abandon()
	case c.resp == nil:
		c.err = fmt.Errorf("retry: the base %T %w", c.t.base, errNoOutcome)
	}
}

// sleep returns nil after d, or the context's error with its cause.
func (c *call) sleep(d time.Duration) error {
	ctx := c.req.Context()
	return deadline.WithCause(ctx, deadline.Sleep(ctx, d))
}

// rewind makes the body of a further attempt. It returns false if GetBody fails.
func (c *call) rewind() bool {
	if c.req.Body == nil || c.req.Body == http.NoBody {
		c.body = c.req.Body
		return true
	}
	body, err := c.req.GetBody()
	if err != nil || body == nil {
		return false
	}
	c.body = body
	return true
}

// abandon closes all bodies that the call holds.
func (c *call) abandon() {
	if c.resp != nil && c.resp.Body != nil {
		_ = c.resp.Body.Close()
	}
	if c.body != nil {
		_ = c.body.Close()
	}
	c.resp, c.body = nil, nil
}
