package upstream

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxPeek  = 4 << 10               // bytes of a body
	peekTime = 20 * time.Millisecond // for its beginning to arrive
)

// peek reads the beginning of a body, and puts a body in its place that returns all.
func peek(resp *http.Response, date time.Time) {
	if _, again := resp.Body.(*peekedBody); again || resp.Body == nil || resp.Body == http.NoBody || resp.Header.Get("Content-Encoding") != "" {
		return
	}
	b := &peekedBody{ReadCloser: resp.Body, text: make([]byte, 0, maxPeek), ahead: make(chan []byte, 1)}
	resp.Body = b
	timeout, ended := time.After(peekTime), (<-chan struct{})(nil)
	if resp.Request != nil {
		ended = resp.Request.Context().Done()
	}
	for !b.late && b.err == nil && len(b.text) < maxPeek {
		b.late = true
		go b.readAhead(b.text[len(b.text):maxPeek])
		select {
		case next := <-b.ahead:
			b.text, b.late = b.text[:len(b.text)+len(next)], false
		case <-timeout:
		case <-ended:
		}
	}
	b.said = parseBody(b.text, date)
}

// errorNames are headers with the name of an error: Amazon, Mashery, Azure Storage.
var errorNames = [...]string{"X-Amzn-Errortype", "X-Mashery-Error-Code", "X-Ms-Error-Code"}

// peeked returns the meaning of a body's beginning, and of headers like parts of one: the
// name of an error, and Meta's minutes until the calls of a kind are no longer refused.
func peeked(resp *http.Response, date time.Time) (t bodyText) {
	if b, ok := resp.Body.(*peekedBody); ok {
		t = b.said
	}
	for _, name := range errorNames {
		if code := first(resp.Header[name]); code != "" && len(code) <= maxPeek {
			t.code(strings.ToLower(code))
		}
	}
	if usage := first(resp.Header["X-Business-Use-Case-Usage"]); t.limited && t.after == 0 && len(usage) <= maxPeek {
		t.after = parseBody([]byte(usage), date).after
	}
	return t
}

// peekedBody is a body whose beginning was read ahead.
type peekedBody struct {
	io.ReadCloser
	closed atomic.Bool
	late   bool        // a read is under way
	ahead  chan []byte // its result
	err    error       // of the last read
	text   []byte      // read ahead and not yet returned
	said   bodyText
}

// readAhead makes one read. It ends with the next bytes, or when the body is closed.
func (b *peekedBody) readAhead(buffer []byte) {
	var text []byte
	defer func() {
		if v := recover(); v != nil {
			b.err = fmt.Errorf("upstream: reading ahead: panic: %v", v)
		}
		b.ahead <- text
	}()
	n, err := b.ReadCloser.Read(buffer)
	text, b.err = buffer[:n], err
}

func (b *peekedBody) Read(p []byte) (int, error) {
	if len(b.text) == 0 && b.late {
		b.text, b.late = <-b.ahead, false
	}
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case len(b.text) > 0:
		n := copy(p, b.text)
		b.text = b.text[n:]
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

func (b *peekedBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
