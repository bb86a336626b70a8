package middleware

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
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
	if o.Status >= 400 && r.Context().Err() == nil {
		return 0
	}
	return o.Cost
}

// ResponseBytes is a Config.Settle for which a request costs one unit per byte of the response's body.
func ResponseBytes(_ *http.Request, o Outcome) int64 { return o.Bytes }

// recorder is a ResponseWriter that remembers the response. It has no ReadFrom: that of net/http
// may send the status earlier. 64 MB on loopback take as long either way.
type recorder struct {
	http.ResponseWriter
	status int // 0: none yet
	bytes  int64
	gone   bool // with a flush, or with the connection
}

// sent reports whether the status has gone out.
func (rec *recorder) sent(r *http.Request) bool { return rec.gone || Sent(r, rec.bytes) }

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func (rec *recorder) WriteHeader(status int) {
	// Informational answers come before the one that counts.
	if rec.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(b []byte) (int, error) {
	n, err := rec.ResponseWriter.Write(b)
	rec.wrote(int64(n))
	return n, err
}

func (rec *recorder) WriteString(s string) (int, error) {
	n, err := io.WriteString(rec.ResponseWriter, s)
	rec.wrote(int64(n))
	return n, err
}

func (rec *recorder) wrote(n int64) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	rec.bytes += n
}

// FlushError is for http.ResponseController. A flush sends the status, 200 if
// there is none yet.
func (rec *recorder) FlushError() error {
	err := http.NewResponseController(rec.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		rec.wrote(0)
		rec.gone = true
	}
	return err
}

// CloseNotify is deprecated, but gin requires it. Without it in the inner writer, the
// channel never receives.
func (rec *recorder) CloseNotify() <-chan bool {
	if n, ok := rec.ResponseWriter.(interface{ CloseNotify() <-chan bool }); ok {
		return n.CloseNotify()
	}
	return make(chan bool)
}

// flushing has the Flush that handlers ask a ResponseWriter for.
type flushing struct{ *recorder }

func (f flushing) Flush() { _ = f.FlushError() }

// hijacking has the Hijack of the inner ResponseWriter. The status is then the handler's.
type hijacking struct{ rec *recorder }

func (h hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.rec.ResponseWriter).Hijack()
	h.rec.gone = h.rec.gone || err == nil
	return conn, rw, err
}

// writer returns the recorder with the inner ResponseWriter's Flush, Hijack and Push. The
// servers' own writers all flush. For others http.ResponseController calls Unwrap.
func (rec *recorder) writer() http.ResponseWriter {
	if _, ok := rec.ResponseWriter.(http.Flusher); !ok {
		return rec
	}
	_, canHijack := rec.ResponseWriter.(http.Hijacker)
	p, canPush := rec.ResponseWriter.(http.Pusher)
	switch f, h := (flushing{rec}), (hijacking{rec}); {
	case canHijack && canPush:
		return struct {
			flushing
			hijacking
			http.Pusher
		}{f, h, p}
	case canHijack:
		return struct {
			flushing
			hijacking
		}{f, h}
	case canPush:
		return struct {
			flushing
			http.Pusher
		}{f, p}
	default:
		return f
	}
}
