package upstream

import (
	"cmp"
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
	b := &peekedBody{ReadCloser: resp.Body, done: make(chan struct{})}
	resp.Body = b
	go b.fill()
	var ended <-chan struct{}
	if resp.Request != nil {
		ended = resp.Request.Context().Done()
	}
	select {
	case <-b.done:
		b.said = parseBody(b.text, date)
	case <-time.After(peekTime):
	case <-ended:
	}
	b.late.Store(true)
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
	if usage := first(resp.Header["X-Business-Use-Case-Usage"]); t.limited && len(usage) <= maxPeek {
		t.after = cmp.Or(t.after, parseBody([]byte(usage), date).after)
	}
	return t
}

// peekedBody is a body whose beginning fill reads ahead.
type peekedBody struct {
	io.ReadCloser
	late, closed atomic.Bool
	done         chan struct{} // closed at the end of fill: the next three are set
	text         []byte        // read ahead and not yet returned
	err          error         // that ended reading ahead
	said         bodyText
}

// fill reads ahead until the body ends, the text is long enough, or peek has gone. A
// read that is under way then ends with the next bytes, or when the body is closed.
func (b *peekedBody) fill() {
	defer close(b.done)
	defer func() {
		if v := recover(); v != nil {
			b.err = fmt.Errorf("upstream: reading ahead: panic: %v", v)
		}
	}()
	b.text = make([]byte, 0, maxPeek)
	for b.err == nil && len(b.text) < maxPeek && !b.late.Load() {
		var n int
		n, b.err = b.ReadCloser.Read(b.text[len(b.text):maxPeek])
		b.text = b.text[:len(b.text)+n]
	}
}

func (b *peekedBody) Read(p []byte) (int, error) {
	<-b.done
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
