package middleware

import "net/http"

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
