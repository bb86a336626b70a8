package weirtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// Transport returns an http.RoundTripper that serves requests in process. It works
// in a bubble of testing/synctest, where sockets do not. Requests to every host go
// to this provider, in the form that they have behind a socket.
//
// Like http.Transport it does not change the request, reads its body to the end and
// closes it once. A body of another length than ContentLength is an error. Unlike
// http.Transport it holds both bodies in memory: the handler runs after the whole
// request was read, and the response comes after the handler has ended, or with
// ProviderConfig.Stream at its first Flush.
func (p *Provider) Transport() http.RoundTripper { return inProcess{p} }

// inProcess is a RoundTripper in front of a Provider.
type inProcess struct{ provider *Provider }

func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	body, err := takeBody(req)
	if err = cmp.Or(context.Cause(ctx), err, sendable(req)); err != nil {
		return nil, err
	}
	return t.serve(req, body)
}

// answer returns a response whose body is counted while it is open. The caller closes
// it, which calls closed.
func (t inProcess) answer(res *http.Response, closed func()) *http.Response {
	if res.Body != http.NoBody {
		t.provider.open.Add(1)
		res.Body = &responseBody{Reader: res.Body, ctx: res.Request.Context(), open: &t.provider.open, close: closed}
	}
	return res
}

// serve serves a request on a goroutine, and returns the response at the end of the
// handler, or with Stream at its first Flush. As behind a socket, the handler's context
// ends when the caller closes the response's body, and its writes fail then.
func (t inProcess) serve(req *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out, in := io.Pipe()
	w := &recorder{req: req, header: make(http.Header), in: in, out: out}
	if t.provider.cfg.Stream {
		w.flushed = make(chan *http.Response, 1)
	}
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
		return t.answer(w.response(), func() {}), nil
	case <-req.Context().Done():
		<-ended
		return nil, context.Cause(req.Context())
	}
}

// takeBody reads the body to its end and closes it, at the latest when the
// request's context ends.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	closeBody := sync.OnceFunc(func() { _ = req.Body.Close() })
	defer closeBody()
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	defer context.AfterFunc(ctx, closeBody)()
	body, err := io.ReadAll(req.Body)
	// As for http.Transport, a length of 0 with a body means unknown.
	if n := req.ContentLength; err == nil && n > 0 && int64(len(body)) != n {
		err = fmt.Errorf("weirtest: ContentLength=%d with Body length %d", n, len(body))
	}
	return body, err
}

// sendable returns an error for requests that http.Transport would not send.
func sendable(req *http.Request) error {
	switch {
	case req.URL == nil:
		return fmt.Errorf("weirtest: the request has no URL")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("weirtest: unsupported protocol scheme %q", req.URL.Scheme)
	case req.URL.Host == "":
		return fmt.Errorf("weirtest: the request's URL has no host")
	}
	return nil
}

// arriving returns the request in its form on a server.
func arriving(req *http.Request, body []byte) *http.Request {
	in := req.Clone(req.Context())
	in.URL = &url.URL{Path: req.URL.Path, RawPath: req.URL.RawPath, RawQuery: req.URL.RawQuery, ForceQuery: req.URL.ForceQuery}
	in.URL.Path = cmp.Or(in.URL.Path, "/")
	in.RequestURI = in.URL.RequestURI()
	in.Method = cmp.Or(in.Method, http.MethodGet)
	in.Host = cmp.Or(in.Host, req.URL.Host)
	if in.Header == nil {
		in.Header = make(http.Header)
	}
	if _, set := in.Header["User-Agent"]; !set {
		in.Header.Set("User-Agent", "Go-http-client/1.1")
	}
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RemoteAddr = "192.0.2.1:1234" // an address for documentation
	in.Body, in.GetBody = http.NoBody, nil
	in.ContentLength = int64(len(body))
	if len(body) > 0 {
		in.Body = io.NopCloser(bytes.NewReader(body))
	}
	in.Response = nil
	return in
}

// serve runs the handler. A panic cuts the connection, as behind a socket.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch cut := recover(); cut {
		case nil:
		case http.ErrAbortHandler:
			err = fmt.Errorf("weirtest: the handler cut the connection: %w", io.EOF)
		default:
			err = fmt.Errorf("weirtest: the handler panicked: %v: %w", cut, io.EOF)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// responseBody is a body in memory. Like a body from a socket it ends with its
// request's context, and can't be read after Close.
type responseBody struct {
	io.Reader
	ctx    context.Context
	open   *atomic.Int64
	closed atomic.Bool
	close  func() // called once
}

func (b *responseBody) Read(into []byte) (int, error) {
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case b.ctx.Err() != nil:
		return 0, context.Cause(b.ctx)
	}
	return b.Reader.Read(into)
}

func (b *responseBody) Close() error {
	if !b.closed.Swap(true) {
		b.open.Add(-1)
		b.close()
	}
	return nil
}
