package weir

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
)

// maxReadAhead is how much of a response is read that a further attempt is
// going to replace.
const maxReadAhead = 64 << 10

// readAhead reads the body of a response, so that its connection is free for a
// further attempt, and keeps it, in case that attempt is not made. Of a body
// that is longer than maxReadAhead the rest is left where it is; where that is
// known before, all of it, as the connection is not going to be free.
func readAhead(resp *http.Response) {
	if resp == nil || resp.Body == nil || resp.Body == http.NoBody || resp.ContentLength > maxReadAhead {
		return
	}
	b := &bufferedBody{rest: resp.Body}
	buf := make([]byte, 0, 512)
	// A Reader may return nothing now and then, but not for ever.
	for idle := 0; b.err == nil && len(buf) < maxReadAhead && idle < 100; idle++ {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := b.rest.Read(buf[len(buf):min(cap(buf), maxReadAhead)])
		if n > 0 {
			buf, idle = buf[:len(buf)+n], 0
		}
		b.err = err
	}
	b.read = buf
	resp.Body = b
}

// giveUpRest closes the body of a response. What was read ahead of it can be read
// still, and then the error is that it returns.
func giveUpRest(resp *http.Response) *restGone {
	gone := new(restGone)
	b, ok := resp.Body.(*bufferedBody)
	if !ok {
		b = &bufferedBody{rest: resp.Body}
		resp.Body = b
	}
	body := b.rest
	b.rest, b.err = http.NoBody, gone
	_ = body.Close()
	return gone
}

// restGone is the error of reading more of a response than was read ahead of it,
// when the attempt that was to replace it was not made.
type restGone struct{ why error }

func (e *restGone) Error() string {
	return fmt.Sprintf("weir: transport: the rest of the response was given up for a further attempt: %v", e.why)
}

func (e *restGone) Unwrap() error { return e.why }

// bufferedBody is a body of which the beginning was read already. Like the
// bodies of net/http it may be closed while it is read.
type bufferedBody struct {
	read   []byte // what was read and not returned yet
	err    error  // what ended the reading; nil: rest has more
	rest   io.ReadCloser
	closed atomic.Bool
}

func (b *bufferedBody) Read(p []byte) (int, error) {
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case len(p) == 0:
		return 0, nil
	case len(b.read) > 0:
		n := copy(p, b.read)
		b.read = b.read[n:]
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.rest.Read(p)
}

func (b *bufferedBody) Close() error {
	b.closed.Store(true)
	return b.rest.Close()
}

func closeBody(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
}

// trailingBody is the body of a clone. When it has been read to its end it gives
// the clone the trailers that it gave the request itself, the only one it knows.
type trailingBody struct {
	io.ReadCloser
	from, to http.Header
}

func (b trailingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		maps.Copy(b.to, b.from.Clone())
	}
	return n, err
}
