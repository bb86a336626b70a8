package middleware

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

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
