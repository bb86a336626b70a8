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

// again returns the pause before the n-th further attempt, or false if an outcome is final.
func (p *policy) again(n int, req *http.Request, resp *http.Response, err error) (pause time.Duration, ok bool) {
	replayable := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	switch {
	case !replayable || len(req.Trailer) > 0 || req.URL == nil:
		return 0, false
	case err != nil:
		return p.random(n), idempotent(req) && !lasting(err)
	case resp.StatusCode < 400:
		return 0, false
	}
	said := resp
	if resp.Request == nil { // A dialect reads its host.
		named := *resp
		named.Request, said = req, &named
	}
	signal := p.upstream.Read(said, time.Time{})
	resp.Body = said.Body // The reader may have read ahead.
	if pause = cmp.Or(signal.Pause, p.upstream.RetryAfter(said, time.Time{})); pause <= 0 {
		pause = p.random(n)
	}
	refused := signal.Refused && slices.Contains(p.statuses, http.StatusTooManyRequests)
	switch {
	case hinted(resp.Header, "false"): // It wins.
		return 0, false
	case hinted(resp.Header, "true"):
		return pause, true
	case signal.NoRetry != "", !refused && !slices.Contains(p.statuses, resp.StatusCode):
		return 0, false
	}
	// A 503 may come from a proxy, after the upstream has processed the request.
	return pause, refused && resp.StatusCode < 500 || idempotent(req)
}

// hinted reports whether a header that decides about a further attempt has a value.
func hinted(h http.Header, value string) bool {
	says := func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), value) }
	return slices.ContainsFunc(h["X-Should-Retry"], says) || slices.ContainsFunc(h["Stripe-Should-Retry"], says)
}

// random returns a pause that no response asks for.
func (p *policy) random(n int) time.Duration {
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
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}
