// Package httpbody watches response bodies for their end.
package httpbody

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// MaxHead and MaxTail are the maximum numbers of bytes that End.Head and End.Tail keep.
const (
	MaxHead = 4 << 10
	MaxTail = 4 << 10
)

// End describes a body that has ended.
type End struct {
	Bytes int64  // read of it
	Head  []byte // the first of them, at most MaxHead
	Tail  []byte // the last of them, at most MaxTail
	Whole bool   // it was read to its end
}

// OnEnd calls ended once, when the body of resp ends: it was read to its end, failed
// or was closed. Without a body that is now. With counts End is complete; otherwise
// only Whole is set. A body that can be written to still can.
func OnEnd(resp *http.Response, counts bool, ended func(*End)) {
	if isEmpty(resp) {
		ended(&End{Whole: true})
		return
	}
	b := &body{ReadCloser: resp.Body, counts: counts, ended: ended}
	resp.Body = b
	if w, writes := b.ReadCloser.(io.Writer); writes { // of 101 Switching Protocols
		resp.Body = switchedBody{b, w}
	}
}

// isEmpty reports whether resp has no body. By HTTP/2 its Body is not http.NoBody.
func isEmpty(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody {
		return true
	}
	head := resp.Request != nil && resp.Request.Method == http.MethodHead
	none := head || resp.ContentLength == 0 || resp.StatusCode == http.StatusNotModified
	return none && resp.ProtoMajor >= 2
}

// body calls ended at its end.
type body struct {
	io.ReadCloser
	counts bool
	mu     sync.Mutex
	end    End
	ended  func(*End) // nil once called
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.counts {
		b.count(p[:n])
	}
	if err != nil {
		b.finish(err == io.EOF)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.finish(false)
	return b.ReadCloser.Close()
}

// count adds read bytes. After the end it changes nothing.
func (b *body) count(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		b.end.Bytes += int64(len(p))
		b.end.Head = append(b.end.Head, p[:min(len(p), MaxHead-len(b.end.Head))]...)
		b.end.Tail = tail(b.end.Tail, p)
	}
}

func (b *body) finish(whole bool) {
	b.mu.Lock()
	ended := b.ended
	if b.ended = nil; ended != nil {
		b.end.Whole = whole
	}
	b.mu.Unlock()
	if ended != nil {
		ended(&b.end)
	}
}

// tail returns the last bytes of both.
func tail(old, more []byte) []byte {
	if len(more) >= MaxTail {
		return append(old[:0], more[len(more)-MaxTail:]...)
	}
	if over := len(old) + len(more) - MaxTail; over > 0 {
		old = append(old[:0], old[over:]...)
	}
	return append(old, more...)
}

// switchedBody is the body of 101 Switching Protocols: a watched body to read from
// and close, and the body itself to write to.
type switchedBody struct {
	io.ReadCloser
	io.Writer
}

// CloseWrite closes the writing half, as net/http's own body does.
func (b switchedBody) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("weir: transport: CloseWrite: %w", http.ErrNotSupported)
}

// NeverSent reports whether a request failed before it had a connection: to the
// upstream, to a proxy, or from a SOCKS proxy to the upstream. An HTTP proxy that
// can't reach the upstream answers, with an error that looks like others.
func NeverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}
