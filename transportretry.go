package weir

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Retry says when a [Transport] sends a request again. The zero value: never.
//
// A request is sent again only where that is safe: when its method is
// idempotent (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) or it has an
// Idempotency-Key or X-Idempotency-Key header; with any method after a 429,
// which says that it was not processed; and only when it has no body or its
// GetBody makes the same one again, which http.NewRequest sees to for
// bytes.Buffer, bytes.Reader and strings.Reader.
//
// Each attempt is a clone of the request, admitted and charged anew. Before it
// the Transport waits for as long as the response asks for, as read by Upstream
// and capped by its MaxPause, with a Retry-After whatever its status; or for
// Backoff when it does not say. An attempt that would come after MaxWait or the
// context's deadline is not made. Of the response that an attempt replaces up
// to 64 KiB are read, so that its connection is used again, and it is closed.
// Reading them takes as long as the upstream takes to send them.
//
// When no further attempt can be made, the caller gets the last outcome there
// is, its response unchanged and unread: also when the limiter refuses the next
// attempt. Only with Config.InFlight is a response of 64 KiB or more closed
// before the limiter is asked, as both would be in flight; when that refuses,
// reading beyond what was read ahead fails with its error. When the request's
// context ends during the wait it gets the context's error.
type Retry struct {
	// Times is how often a request is sent again at the most, after the first
	// attempt. 0: never; every other field must be zero then.
	Times int
	// Statuses are the response statuses to send a request again for, each 400
	// to 599. Nil: 429 and 503.
	Statuses []int
	// Errors sends an idempotent request again when the base returned an error
	// too, unless that is known to be lasting: a certificate that is not
	// trusted, or a refusal or failure of a Transport that is the base. False:
	// the error is returned.
	Errors bool
	// Backoff is the longest wait before the second attempt when the upstream
	// does not say how long, and doubles with each further one; the wait is a
	// random part of it. 0: 500 ms.
	Backoff time.Duration
	// MaxBackoff is the most that Backoff grows to. 0: 20 s, or Backoff if that
	// is longer.
	MaxBackoff time.Duration
}

// retryPolicy is a Retry that was checked.
type retryPolicy struct {
	times      int
	statuses   []int
	errors     bool
	backoff    time.Duration
	maxBackoff time.Duration
}

func (r Retry) policy() (retryPolicy, error) {
	wrong := func(field, want, got string) (retryPolicy, error) {
		return retryPolicy{}, &ConfigError{Field: "TransportConfig.Retry." + field, Want: want, Got: got}
	}
	switch {
	case r.Times < 0:
		return wrong("Times", "0 or more", strconv.Itoa(r.Times))
	case r.Times == 0 && (r.Statuses != nil || r.Errors || r.Backoff != 0 || r.MaxBackoff != 0):
		return wrong("Times", "1 or more with other fields set", "0")
	case r.Backoff < 0:
		return wrong("Backoff", "0 or more", r.Backoff.String())
	case r.MaxBackoff < 0:
		return wrong("MaxBackoff", "0 or more", r.MaxBackoff.String())
	}
	p := retryPolicy{r.Times, slices.Clone(r.Statuses), r.Errors, r.Backoff, r.MaxBackoff}
	if r.Statuses == nil {
		p.statuses = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
	}
	if p.backoff == 0 {
		p.backoff = 500 * time.Millisecond
	}
	if p.maxBackoff == 0 {
		p.maxBackoff = max(20*time.Second, p.backoff)
	}
	if p.maxBackoff < p.backoff {
		return wrong("MaxBackoff", "at least Backoff, "+p.backoff.String(), r.MaxBackoff.String())
	}
	for i, status := range p.statuses {
		if status < 400 || status > 599 {
			return wrong("Statuses["+strconv.Itoa(i)+"]", "400 to 599", strconv.Itoa(status))
		}
	}
	return p, nil
}

// covers reports whether the outcome of an attempt is one to send the request
// again for.
func (p *retryPolicy) covers(req *http.Request, resp *http.Response, err error) bool {
	switch {
	case !replayable(req):
		return false
	case err != nil:
		return p.errors && idempotent(req) && !lasting(err)
	case !slices.Contains(p.statuses, resp.StatusCode):
		return false
	}
	return resp.StatusCode == http.StatusTooManyRequests || idempotent(req)
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

// hasKey reports whether a header says that a request is idempotent. As in
// net/http it may have no value at all, and is not sent then. An empty value is
// sent and says nothing.
func hasKey(h http.Header, name string) bool {
	values, ok := h[name]
	return ok && (len(values) == 0 || values[0] != "")
}

// lasting reports whether an error is known to come again.
func lasting(err error) bool {
	var untrusted *tls.CertificateVerificationError
	for _, target := range []error{ErrLimited, ErrStore, ErrConfig, ErrNoKey, ErrAmbiguousKey, ErrMalformedKey, errNoOutcome} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &untrusted)
}

// backoff returns how long to wait before the n-th further attempt when the
// upstream did not say.
func (t *Transport) backoff(n int) time.Duration {
	longest := t.retry.backoff
	for range n - 1 {
		if longest > t.retry.maxBackoff/2 {
			longest = t.retry.maxBackoff
			break
		}
		longest *= 2
	}
	return rand.N(longest) + 1
}
