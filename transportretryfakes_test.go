package weir_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// retryBase answers with the steps in order, the last one again and again. It
// reads and closes the requests' bodies, and records what it was sent and
// which of its response bodies are open.
type retryBase struct {
	steps []retryStep
	hold  func(n int, r *http.Request) // before answer n

	mu     sync.Mutex
	bodies []string
	sent   []*http.Request
	at     []time.Time
	open   atomic.Int32 // response bodies that were not closed
	twice  atomic.Int32 // closes of one that was
	read   atomic.Int64 // bytes read from response bodies
}

type retryStep struct {
	status int
	after  string // Retry-After
	header http.Header
	body   string
	err    error
	panics bool
	noBody bool // the response's Body is nil
}

func (b *retryBase) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	b.mu.Lock()
	n := len(b.sent)
	b.bodies, b.sent, b.at = append(b.bodies, string(body)), append(b.sent, r), append(b.at, time.Now())
	step := b.steps[min(n, len(b.steps)-1)]
	b.mu.Unlock()
	if b.hold != nil {
		b.hold(n, r)
	}
	if step.panics {
		panic("base")
	}
	if step.err != nil {
		return nil, step.err
	}
	resp := &http.Response{StatusCode: step.status, Header: http.Header{}, ContentLength: -1, Request: r}
	for k, v := range step.header {
		resp.Header[k] = v
	}
	if step.after != "" {
		resp.Header.Set("Retry-After", step.after)
	}
	if !step.noBody {
		b.open.Add(1)
		resp.Body = &retryBody{Reader: strings.NewReader(step.body), base: b}
	}
	return resp, nil
}

func (b *retryBase) attempts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sent)
}

// check fails the test unless the response bodies are closed, once each.
func (b *retryBase) check(tb testing.TB) {
	tb.Helper()
	if open, twice := b.open.Load(), b.twice.Load(); open != 0 || twice != 0 {
		tb.Errorf("%d response bodies are open, %d closes too many", open, twice)
	}
}

type retryBody struct {
	io.Reader
	base   *retryBase
	closed atomic.Bool
}

func (b *retryBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errors.New("read after close")
	}
	n, err := b.Reader.Read(p)
	b.base.read.Add(int64(n))
	return n, err
}

func (b *retryBody) Close() error {
	if b.closed.Swap(true) {
		b.base.twice.Add(1)
	} else {
		b.base.open.Add(-1)
	}
	return nil
}

// retryRequest returns a request whose bodies count how often they are closed,
// and those bodies: the first is the request's own, which is used up by
// reading.
func retryRequest(tb testing.TB, method, body string) (*http.Request, *retryBodies) {
	tb.Helper()
	bodies := &retryBodies{}
	req, err := http.NewRequestWithContext(tb.Context(), method, "http://api.example/", nil)
	if err != nil {
		tb.Fatal(err)
	}
	if body != "" {
		req.Body = bodies.add(body)
		req.GetBody = func() (io.ReadCloser, error) { return bodies.add(body), nil }
		req.ContentLength = int64(len(body))
	}
	return req, bodies
}

type retryBodies struct {
	mu  sync.Mutex
	all []*transportBody
}

func (b *retryBodies) add(text string) *transportBody {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := &transportBody{Reader: strings.NewReader(text)}
	b.all = append(b.all, one)
	return one
}

// check fails the test unless there were n bodies, closed once each.
func (b *retryBodies) check(tb testing.TB, n int) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) != n {
		tb.Errorf("%d bodies were made, want %d", len(b.all), n)
	}
	for i, one := range b.all {
		if closed := one.closed.Load(); closed != 1 {
			tb.Errorf("body %d was closed %d times", i, closed)
		}
	}
}

// retrying returns a Transport that sends a request again, over a store that
// admits at once.
func retrying(tb testing.TB, base http.RoundTripper, cfg weir.TransportConfig) (*weir.Transport, *transportStore) {
	tb.Helper()
	store := &transportStore{}
	cfg.Base = base
	return transportOver(tb, store, cfg), store
}
