package retry_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/retry"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// base answers with the steps in order, the last one again and again. It reads and
// closes the requests' bodies. It records the requests and the open response bodies.
type base struct {
	steps []step
	hold  func(n int, r *http.Request) // before answer n

	mu     sync.Mutex
	bodies []string
	sent   []*http.Request
	at     []time.Time
	idle   atomic.Int32 // calls of CloseIdleConnections
	open   atomic.Int32 // response bodies that were not closed
	twice  atomic.Int32 // closes of a closed body
	read   atomic.Int64 // bytes of response bodies
}

type step struct {
	status int
	after  string // Retry-After
	header http.Header
	body   string
	length int64 // the response's ContentLength; 0: unknown
	err    error
	panics bool
	noBody bool // the response's Body is nil
}

func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	b.mu.Lock()
	n := len(b.sent)
	b.bodies, b.sent, b.at = append(b.bodies, string(body)), append(b.sent, r), append(b.at, time.Now())
	now := b.steps[min(n, len(b.steps)-1)]
	b.mu.Unlock()
	if b.hold != nil {
		b.hold(n, r)
	}
	if now.panics {
		panic("base")
	}
	if now.err != nil {
		return nil, now.err
	}
	resp := &http.Response{StatusCode: now.status, Header: http.Header{}, ContentLength: -1}
	for k, v := range now.header {
		resp.Header[k] = v
	}
	if now.after != "" {
		resp.Header.Set("Retry-After", now.after)
	}
	if now.length != 0 {
		resp.ContentLength = now.length
	}
	if !now.noBody {
		b.open.Add(1)
		resp.Body = &countedBody{Reader: strings.NewReader(now.body), base: b}
	}
	return resp, nil
}

func (b *base) CloseIdleConnections() { b.idle.Add(1) }

func (b *base) attempts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sent)
}

// check fails the test unless each response body was closed once.
func (b *base) check(tb testing.TB) {
	tb.Helper()
	if open, twice := b.open.Load(), b.twice.Load(); open != 0 || twice != 0 {
		tb.Errorf("%d response bodies are open, %d closes too many", open, twice)
	}
}

// countedBody is a body of a response. Like those of net/http it may be closed
// while it is read.
type countedBody struct {
	io.Reader
	base   *base
	closed atomic.Bool
}

func (b *countedBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errors.New("read after close")
	}
	n, err := b.Reader.Read(p)
	b.base.read.Add(int64(n))
	return n, err
}

func (b *countedBody) Close() error {
	if b.closed.Swap(true) {
		b.base.twice.Add(1)
	} else {
		b.base.open.Add(-1)
	}
	return nil
}

// request returns a request and its bodies, which count how often they are closed.
// The first body is the request's own.
func request(tb testing.TB, method, body string) (*http.Request, *bodies) {
	tb.Helper()
	made := &bodies{}
	req, err := http.NewRequestWithContext(tb.Context(), method, "http://api.example/", nil)
	if err != nil {
		tb.Fatal(err)
	}
	if body != "" {
		req.Body = made.add(body)
		req.GetBody = func() (io.ReadCloser, error) { return made.add(body), nil }
		req.ContentLength = int64(len(body))
	}
	return req, made
}

type bodies struct {
	mu  sync.Mutex
	all []*sentBody
}

type sentBody struct {
	io.Reader
	closed atomic.Int32
}

func (b *sentBody) Close() error {
	b.closed.Add(1)
	return nil
}

func (b *bodies) add(text string) *sentBody {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := &sentBody{Reader: strings.NewReader(text)}
	b.all = append(b.all, one)
	return one
}

// check fails the test unless there were n bodies, closed once each.
func (b *bodies) check(tb testing.TB, n int) {
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

// over returns a Transport over a base.
func over(tb testing.TB, base http.RoundTripper, cfg retry.Config) *retry.Transport {
	tb.Helper()
	cfg.Base = base
	tr, err := retry.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return tr
}

// baseFunc is a function as a base.
type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// text returns n bytes, no two parts alike.
func text(n int) string {
	var b strings.Builder
	for i := uint32(1); b.Len() < n; i++ {
		b.WriteByte(byte(i * 2654435761 >> 24))
	}
	return b.String()
}
