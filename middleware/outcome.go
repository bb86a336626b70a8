package middleware

import (
	"net/http"

	"github.com/goweir/weir/internal/deadline"
)

// Outcome is how a handler served a request.
type Outcome struct {
	// Status is the response's: 200 if the handler set none. A panic is a 500, unless the
	// status went out before, with a flush, a hijacked connection, or more of the body than
	// the server holds back (see [Sent]), as when a client leaves an httputil.ReverseProxy.
	Status int
	// Bytes is the number of body bytes that the handler wrote, before any compression
	// further out. It is 0 for a HEAD, and leaves out hijacked connections.
	Bytes int64
	// Cost is the number of units that the request was charged, 1 or more.
	Cost int64
}

// Sent reports whether the status of a response has gone out when the handler has
// written so many bytes of the body without a flush: net/http holds back up to 2048
// bytes, and 4096 with HTTP/2.
func Sent(r *http.Request, bytes int64) bool {
	if r.ProtoMajor >= 2 {
		return bytes > 4096
	}
	return bytes > 2048
}

// OnlyFailures is a Config.Settle for which only answers of 400 or above cost: wrong passwords, say.
func OnlyFailures(_ *http.Request, o Outcome) int64 {
	if o.Status >= 400 {
		return o.Cost
	}
	return 0
}

// OnlySuccesses is a Config.Settle for which requests answered with 400 or above cost
// nothing, unless their context has ended: no client has work for nothing by leaving.
func OnlySuccesses(r *http.Request, o Outcome) int64 {
	if o.Status >= 400 && deadline.Ended(r.Context()) == nil {
		return 0
	}
	return o.Cost
}

// ResponseBytes is a Config.Settle for which a request costs one unit per byte of the response's body.
func ResponseBytes(_ *http.Request, o Outcome) int64 { return o.Bytes }
