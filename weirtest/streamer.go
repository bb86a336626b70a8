package weirtest

import (
	"bytes"
	"io"
	"net/http"
)

// streamer is a recorder until its first Flush, and writes into a pipe from then on.
type streamer struct {
	recorder
	req     *http.Request
	in      *io.PipeWriter
	out     *io.PipeReader
	flushed chan *http.Response // gets the response at the first Flush
	streams bool
}

func (w *streamer) Write(p []byte) (int, error) {
	if w.streams && hasBody(w.status) {
		return w.in.Write(p)
	}
	return w.recorder.Write(p)
}

// Flush implements http.Flusher.
func (w *streamer) Flush() {
	w.recorder.Flush()
	if w.streams {
		return
	}
	w.streams = true
	written := bytes.Clone(w.body.Bytes())
	res := w.response(w.req)
	if w.req.Method != http.MethodHead && hasBody(w.status) {
		res.ContentLength = -1
		res.Header.Del("Content-Length")
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(written), w.out))
	}
	w.flushed <- res
}
