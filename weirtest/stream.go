package weirtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// stream serves a request on a goroutine, and returns the response at the first Flush
// of the handler, or at its end. As behind a socket, the handler's context ends when
// the caller closes the response's body, and its writes fail then.
func (t inProcess) stream(req *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out, in := io.Pipe()
	w := &streamer{recorder: recorder{header: make(http.Header)}, req: req, in: in, out: out, flushed: make(chan *http.Response, 1)}
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		err := io.ErrUnexpectedEOF // of a handler that has ended its goroutine
		defer func() {
			_ = in.CloseWithError(err) // nil: the end of the body
			ended <- err
		}()
		err = serve(t.provider, w, arriving(req.WithContext(ctx), body))
	}()
	select {
	case res := <-w.flushed:
		stop := context.AfterFunc(req.Context(), func() { _ = out.CloseWithError(context.Cause(req.Context())) })
		return t.answer(res, func() {
			stop()
			_ = out.Close()
			cancel()
		}), nil
	case err := <-ended:
		if err == nil && req.Context().Err() != nil {
			err = context.Cause(req.Context()) // the caller has gone
		}
		if err != nil {
			return nil, err
		}
		return t.answer(w.response(req), func() {}), nil
	case <-req.Context().Done():
		<-ended
		return nil, context.Cause(req.Context())
	}
}

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
