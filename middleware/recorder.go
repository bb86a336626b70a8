package middleware

import (
	"errors"
	"io"
	"math"
	"net/http"
)

// recorder is a ResponseWriter that remembers what was answered. What handlers
// get is made by writer, which keeps the abilities of the one inside, but for a
// method that net/http does not export: the one by which http.MaxBytesReader has
// the connection closed.
type recorder struct {
	http.ResponseWriter
	status int // 0: none yet
	bytes  int64
	sent   bool // the status has gone out, or is with the body on its way
}

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// CloseNotify is what net/http's ResponseWriters have besides. It is deprecated,
// but gin takes it for granted. Where there is none inside, nothing is ever told.
func (rec *recorder) CloseNotify() <-chan bool {
	if n, ok := rec.ResponseWriter.(interface{ CloseNotify() <-chan bool }); ok {
		return n.CloseNotify()
	}
	return make(chan bool)
}

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
	rec.sent = rec.sent || n > 0
}

// flushed notes that the status went out: 200 where nothing was said yet.
func (rec *recorder) flushed() {
	rec.wrote(0)
	rec.sent = true
}

// FlushError is for http.ResponseController, which finds one further in, too.
func (rec *recorder) FlushError() error {
	err := http.NewResponseController(rec.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		rec.flushed()
	}
	return err
}

type flushing struct{ rec *recorder }

func (f flushing) Flush() {
	f.rec.ResponseWriter.(http.Flusher).Flush()
	f.rec.flushed()
}

type reading struct {
	rec  *recorder
	from io.ReaderFrom
}

func (r reading) ReadFrom(src io.Reader) (n int64, err error) {
	// It knows what went out if src panics midway. Through one the system sends files
	// by itself, too.
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: math.MaxInt64}
	}
	before, ended := limited.N, false
	defer func() {
		if !ended {
			n = before - limited.N
		}
		if n > 0 { // or the status is still to come
			r.rec.wrote(n)
		}
	}()
	n, err = r.from.ReadFrom(limited)
	ended = true
	return n, err
}

const (
	canFlush = 1 << iota
	canHijack
	canRead
	canPush
)

// writer returns the recorder with exactly those abilities that handlers look
// for with a type assertion and that the ResponseWriter inside has.
func (rec *recorder) writer() http.ResponseWriter {
	can := 0
	if _, ok := rec.ResponseWriter.(http.Flusher); ok {
		can |= canFlush
	}
	h, ok := rec.ResponseWriter.(http.Hijacker)
	if ok {
		can |= canHijack
	}
	from, ok := rec.ResponseWriter.(io.ReaderFrom)
	if ok {
		can |= canRead
	}
	p, ok := rec.ResponseWriter.(http.Pusher)
	if ok {
		can |= canPush
	}
	f, r := flushing{rec}, reading{rec, from}
	type (
		hijack = http.Hijacker
		push   = http.Pusher
	)
	switch can {
	case canFlush:
		return struct {
			*recorder
			flushing
		}{rec, f}
	case canHijack:
		return struct {
			*recorder
			hijack
		}{rec, h}
	case canFlush | canHijack:
		return struct {
			*recorder
			flushing
			hijack
		}{rec, f, h}
	case canRead:
		return struct {
			*recorder
			reading
		}{rec, r}
	case canFlush | canRead:
		return struct {
			*recorder
			flushing
			reading
		}{rec, f, r}
	case canHijack | canRead:
		return struct {
			*recorder
			hijack
			reading
		}{rec, h, r}
	case canFlush | canHijack | canRead:
		return struct {
			*recorder
			flushing
			hijack
			reading
		}{rec, f, h, r}
	case canPush:
		return struct {
			*recorder
			push
		}{rec, p}
	case canFlush | canPush:
		return struct {
			*recorder
			flushing
			push
		}{rec, f, p}
	case canHijack | canPush:
		return struct {
			*recorder
			hijack
			push
		}{rec, h, p}
	case canFlush | canHijack | canPush:
		return struct {
			*recorder
			flushing
			hijack
			push
		}{rec, f, h, p}
	case canRead | canPush:
		return struct {
			*recorder
			reading
			push
		}{rec, r, p}
	case canFlush | canRead | canPush:
		return struct {
			*recorder
			flushing
			reading
			push
		}{rec, f, r, p}
	case canHijack | canRead | canPush:
		return struct {
			*recorder
			hijack
			reading
			push
		}{rec, h, r, p}
	case canFlush | canHijack | canRead | canPush:
		return struct {
			*recorder
			flushing
			hijack
			reading
			push
		}{rec, f, h, r, p}
	}
	return rec
}
