package weirtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// recorder is an http.ResponseWriter that holds a response in memory, and writes into a
// pipe after the first Flush of a stream. That of package httptest has no streams.
type recorder struct {
	req     *http.Request
	header  http.Header // the handler's
	sent    http.Header // header at the time of the status
	status  int
	body    bytes.Buffer
	in      *io.PipeWriter
	out     *io.PipeReader
	flushed chan *http.Response // gets the response at the first Flush; nil: it is no stream
	streams bool
}

func (w *recorder) Header() http.Header { return w.header }

// WriteHeader leaves out informational responses.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !hasBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.streams {
		return w.in.Write(p)
	}
	return w.body.Write(p)
}

// Flush implements http.Flusher.
func (w *recorder) Flush() {
	w.WriteHeader(http.StatusOK)
	if w.streams || w.flushed == nil {
		return
	}
	w.streams = true
	res := w.response()
	if w.req.Method != http.MethodHead && hasBody(w.status) {
		res.ContentLength = -1
		res.Header.Del("Content-Length")
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(w.body.Bytes()), w.out))
	}
	w.flushed <- res
}

func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// response returns the handler's response in the form of http.Transport.
func (w *recorder) response() *http.Response {
	w.WriteHeader(http.StatusOK)
	h, body := w.sent, w.body.Bytes()
	res := &http.Response{
		StatusCode: w.status,
		Status:     strings.TrimSpace(decimal(int64(w.status)) + " " + http.StatusText(w.status)),
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     h,
		Body:       http.NoBody,
		Request:    w.req,
	}
	if len(body) > 0 && len(h["Content-Type"]) == 0 && h.Get("Content-Encoding") == "" {
		h.Set("Content-Type", http.DetectContentType(body))
	}
	head := w.req.Method == http.MethodHead
	switch trailer := w.trailer(); {
	case trailer != nil:
		res.ContentLength = -1 // a trailer needs a chunked body
		if !head {
			res.Trailer = trailer
			h.Del("Trailer")
		}
	case head && len(body) == 0:
		res.ContentLength = -1 // unknown: handlers write no body for HEAD
	case hasBody(w.status):
		res.ContentLength = int64(len(body))
		h.Set("Content-Length", decimal(res.ContentLength))
	}
	if !head && len(body) > 0 {
		res.Body = io.NopCloser(bytes.NewReader(body))
	}
	return res
}

// trailer returns the headers that the handler announced, or marked, as trailers.
// They are complete at once, not only at the body's end.
func (w *recorder) trailer() http.Header {
	var t http.Header
	add := func(name string, values []string) {
		if t == nil {
			t = make(http.Header)
		}
		t[http.CanonicalHeaderKey(name)] = values
	}
	for _, list := range w.sent["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			add(name, w.header[name])
			delete(w.sent, name)
		}
	}
	for name, values := range w.header {
		if after, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			add(after, values)
			delete(w.sent, name)
		}
	}
	return t
}
