package weir

import (
	"io"
	"net/http"
	"time"
)

// retrial is a request on its way through its further attempts. The Transport
// has a Retry.
type retrial struct {
	t      *Transport
	base   http.RoundTripper
	req    *http.Request // the caller's, never changed; its body is closed or the base's to close
	waited time.Duration // for slots and between attempts, so far
	pause  time.Duration // that the last response asked for; 0: none
	booked admission     // of the last attempt
	seenTo bool          // the limiter has calls wait for it
}

// run makes further attempts while the outcome is one to make them for, and
// returns the last.
func (r *retrial) run(resp *http.Response, err error) (*http.Response, error) {
	ctx := r.req.Context()
	for n := 1; n <= r.t.retry.times && ctx.Err() == nil && r.t.retry.covers(r.req, resp, err); n++ {
		pause := r.pause
		if pause == 0 {
			pause = r.t.upstream.RetryAfter(resp, time.Time{})
		}
		if pause == 0 {
			pause = r.t.backoff(n)
		}
		if !r.fits(pause) {
			break
		}
		start := time.Now()
		next, ended := r.prepare(resp, pause)
		if ended != nil {
			return nil, ended
		}
		if next == nil {
			break
		}
		wait := time.Since(start)
		r.waited += max(0, wait-r.slack())
		r.observe(n, wait, err)
		resp, r.pause, r.seenTo, err = r.t.attempt(r.base, next, &r.booked)
	}
	return resp, err
}

// fits reports whether a pause ends before the request has to be on its way.
func (r *retrial) fits(pause time.Duration) bool {
	if r.t.maxWait > 0 && pause > r.t.maxWait-r.waited {
		return false
	}
	deadline, ok := r.req.Context().Deadline()
	return !ok || pause < time.Until(deadline)
}

// slack returns by how much a pause that the store sees to is longer than the
// upstream asked for, at the most. MaxWait does not count it: whoever allows ten
// seconds allows a Retry-After of ten.
func (r *retrial) slack() time.Duration {
	if !r.seenTo {
		return 0
	}
	return slackOf(r.pause)
}

// prepare returns the request of the next attempt when that may leave, and has
// closed resp then; nil when the outcome there is has to do. An error is that
// of the request's context, and nothing is open then.
func (r *retrial) prepare(resp *http.Response, pause time.Duration) (next *http.Request, ended error) {
	var body io.ReadCloser
	keep := false
	// Deferred, so that a panic in GetBody, Key, Cost, a store or a body leaves
	// nothing open.
	defer func() {
		if next == nil && body != nil {
			_ = body.Close()
		}
		if !keep {
			closeBody(resp)
		}
	}()
	var ok bool
	if body, ok = bodyAgain(r.req); !ok {
		keep = true
		return nil, nil
	}
	ctx, start := r.req.Context(), time.Now()
	readAhead(resp)
	// Whoever waits for a slot in the meantime has a place in the line.
	if !r.seenTo {
		if err := sleep(ctx, pause-time.Since(start)); err != nil {
			return nil, err
		}
	}
	// What is left of the last response must not keep this call from being in
	// flight: it would wait for itself. Nor may it stay open beside it, uncounted.
	var rest *restGone
	if r.booked.inFlight() {
		rest = giveUpRest(resp)
		r.booked.abandon()
	}
	longest, refuse, waited := r.t.maxWait, r.t.refuse, time.Since(start)
	if longest > 0 {
		longest = left(longest, r.waited+waited) + r.slack()
	}
	if refuse && r.seenTo {
		// The pause ends by the store's clock, and a little later when others were
		// refused meanwhile.
		longest, refuse = shorter(longest, left(pause, waited)+4*mostSlack), false
	}
	r.booked = admission{}
	if err := r.t.admit(r.req, longest, refuse, &r.booked); err != nil {
		r.booked = admission{}
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if rest != nil {
			rest.why = err
		}
		keep = true
		return nil, nil
	}
	again := r.req.Clone(ctx)
	again.Body = body
	if again.Trailer != nil && body != nil && body != http.NoBody {
		again.Body = trailingBody{body, r.req.Trailer, again.Trailer}
	}
	return again, nil
}

// observe tells of an attempt that is about to be made.
func (r *retrial) observe(n int, wait time.Duration, err error) {
	l := r.t.scopes[0].Limiter
	if l.hook != nil {
		l.hook.Observe(r.req.Context(), Event{Kind: EventRetry, Scope: l.name, Attempt: n + 1, Wait: wait, Err: err})
	}
}

// replayable reports whether the body of a request can be sent again.
func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// bodyAgain returns the body for a further attempt, or false when there is none.
func bodyAgain(req *http.Request) (body io.ReadCloser, ok bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, true
	}
	body, err := req.GetBody()
	return body, err == nil && body != nil
}
