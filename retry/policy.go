package retry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/upstream"
)

// policy decides which outcomes are tried again, and after which pause.
type policy struct {
	statuses            []int
	backoff, maxBackoff time.Duration
	maxWait             time.Duration
	upstream            upstream.Reader
}

// covers reports whether an outcome is one to try again.
func (p *policy) covers(req *http.Request, resp *http.Response, err error) bool {
	replayable := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	if !replayable || len(req.Trailer) > 0 || req.URL == nil {
		return false
	}
	if err != nil {
		return idempotent(req) && !lasting(err)
	}
	if resp.StatusCode < 400 {
		return false
	}
	signal := p.upstream.Read(p.answered(req, resp), time.Time{})
	refused := signal.Refused && slices.Contains(p.statuses, http.StatusTooManyRequests)
	switch {
	case slices.Contains(hints, signal.NoRetry): // It says false, and wins.
		return false
	case permitted(resp.Header):
		return true
	case signal.NoRetry != "", !refused && !slices.Contains(p.statuses, resp.StatusCode):
		return false
	}
	// A 503 may come from a proxy, after the upstream has processed the request.
	return refused && resp.StatusCode < 500 || idempotent(req)
}

// answered returns a response that names its request, for the dialect of its host. The
// beginning of its body is read if the Reader needs it.
func (p *policy) answered(req *http.Request, resp *http.Response) *http.Response {
	p.upstream.Peek(resp)
	if resp.Request != nil {
		return resp
	}
	answer := *resp
	answer.Request = req
	return &answer
}

// hints are the headers of responses that decide about a further attempt. Package upstream
// reads false.
var hints = []string{"X-Should-Retry", "Stripe-Should-Retry"}

// permitted reports whether a hint says true.
func permitted(h http.Header) bool {
	return slices.ContainsFunc(hints, func(name string) bool {
		return slices.ContainsFunc(h[name], func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), "true") })
	})
}

// pause returns the pause before the n-th further attempt.
func (p *policy) pause(n int, req *http.Request, resp *http.Response) time.Duration {
	if resp != nil {
		answer := p.answered(req, resp)
		asked := p.upstream.Read(answer, time.Time{}).Pause
		if asked = cmp.Or(asked, p.upstream.RetryAfter(answer, time.Time{})); asked > 0 {
			return asked
		}
	}
	bound := p.backoff
	for ; n > 1 && bound < p.maxBackoff; n-- {
		bound += min(bound, p.maxBackoff-bound)
	}
	return min(rand.N(bound)+1, p.maxWait)
}

// fits reports whether a pause is within MaxWait and ends before the context's
// deadline.
func (p *policy) fits(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && pause <= p.maxWait && (!ok || pause < time.Until(deadline))
}

// idempotent reports whether a request that was perhaps processed may be sent
// again.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return hasKey(req.Header, "Idempotency-Key") || hasKey(req.Header, "X-Idempotency-Key")
}

// hasKey reports whether a header makes a request idempotent. As in net/http the
// header may have no value at all, and is not sent then. An empty value is sent
// and says nothing.
func hasKey(h http.Header, name string) bool {
	values, ok := h[name]
	return ok && (len(values) == 0 || values[0] != "")
}

var errNoOutcome = errors.New("returned neither a response nor an error")

// lasting reports whether an error would come again. context.DeadlineExceeded is no such
// error: timeouts of net and net/http match it too, and fits sees the end of the request's
// own context.
func lasting(err error) bool {
	for _, target := range []error{
		weir.ErrLimited, weir.ErrStore, weir.ErrConfig, weir.ErrUnsupported,
		weir.ErrNoKey, weir.ErrMalformedKey,
		context.Canceled, errNoOutcome,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}
