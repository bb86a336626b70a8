package weir_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// transportStore grants every request after delay, or refuses it if delay is longer
// than the request may wait. It records its grants.
type transportStore struct {
	delay time.Duration
	err   error
	block bool // Take waits for the end of its context

	mu       sync.Mutex
	granted  []store.Charge
	maxWaits []time.Duration
	cancels  int
}

func (s *transportStore) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.block {
		<-ctx.Done()
		return store.Decision{}, ctx.Err()
	}
	if s.err != nil {
		return store.Decision{}, s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxWaits = append(s.maxWaits, req.MaxWait)
	d := store.Decision{Limit: req.Charges[0].Limit}
	if s.delay > req.MaxWait {
		d.Reason, d.RetryAfter = weir.ReasonLimited, s.delay
		return d, nil
	}
	s.granted = append(s.granted, req.Charges...)
	d.Allowed, d.Delay = true, s.delay
	if req.Cancelable {
		d.Receipt = s
	}
	return d, nil
}

func (s *transportStore) Cancel(context.Context, any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels++
	return nil
}

func (s *transportStore) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, c := range s.granted {
		keys = append(keys, c.Key)
	}
	return keys
}

// buckets returns the limits for a Transport: it refuses GCRA without a Burst.
func buckets(limits ...weir.Limit) []weir.Limit {
	all := slices.Clone(limits)
	for i, l := range all {
		if l.Algorithm == weir.GCRA && l.Burst == 0 {
			all[i].Burst = l.Rate
		}
	}
	return all
}

func transportLimiter(tb testing.TB, s weir.Store) *weir.Limiter {
	tb.Helper()
	l, err := weir.New(weir.Config{Store: s, Limits: buckets(weir.PerSecond(1).WithBurst(7)), Name: "out"})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// transportOver returns a Transport over the store. The Limiter of cfg is made here; the
// default for its Key is the host.
func transportOver(tb testing.TB, s weir.Store, cfg weir.TransportConfig) *weir.Transport {
	tb.Helper()
	if cfg.Limiter = transportLimiter(tb, s); cfg.Key == nil {
		cfg.Key = weir.KeyHost()
	}
	tr, err := weir.NewTransport(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return tr
}

// transportFunc is a base that is a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// transportOK is a base that keeps the contract and does nothing.
var transportOK = transportFunc(func(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
})

// transportUnused is a base that must not be reached.
func transportUnused(tb testing.TB) http.RoundTripper {
	return transportFunc(func(r *http.Request) (*http.Response, error) {
		tb.Error("the base was called")
		return transportOK(r)
	})
}

// transportBody counts how often it is closed.
type transportBody struct {
	io.Reader
	closed atomic.Int32
}

func (b *transportBody) Close() error {
	b.closed.Add(1)
	return nil
}

// scriptedBase answers with the steps in order, the last one again and again. It reads
// and closes the requests' bodies. It records the requests and the open response bodies.
type scriptedBase struct {
	steps []scriptedStep
	hold  func(n int, r *http.Request) // before answer n

	mu     sync.Mutex
	bodies []string
	sent   []*http.Request
	at     []time.Time
	open   atomic.Int32 // response bodies that were not closed
	twice  atomic.Int32 // closes of a closed body
	read   atomic.Int64 // bytes read from response bodies
}

type scriptedStep struct {
	status int
	after  string // Retry-After
	header http.Header
	body   string
	err    error
	panics bool
	noBody bool // the response's Body is nil
}

func (b *scriptedBase) RoundTrip(r *http.Request) (*http.Response, error) {
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
		resp.Body = &scriptedBody{Reader: strings.NewReader(step.body), base: b}
	}
	return resp, nil
}

// check fails the test unless the response bodies are closed, once each.
func (b *scriptedBase) check(tb testing.TB) {
	tb.Helper()
	if open, twice := b.open.Load(), b.twice.Load(); open != 0 || twice != 0 {
		tb.Errorf("%d response bodies are open, %d closes too many", open, twice)
	}
}

type scriptedBody struct {
	io.Reader
	base   *scriptedBase
	closed atomic.Bool
}

func (b *scriptedBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errors.New("read after close")
	}
	n, err := b.Reader.Read(p)
	b.base.read.Add(int64(n))
	return n, err
}

func (b *scriptedBody) Close() error {
	if b.closed.Swap(true) {
		b.base.twice.Add(1)
	} else {
		b.base.open.Add(-1)
	}
	return nil
}
