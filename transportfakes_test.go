package weir_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// transportStore grants every request after delay, or refuses it when that is
// longer than the request may wait. It records what it granted.
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
		d.Reason, d.RetryAfter = weir.Limited, s.delay
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

func transportLimiter(tb testing.TB, s weir.Store) *weir.Limiter {
	tb.Helper()
	l, err := weir.New(weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1)}, Name: "out"})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// transportOver returns a Transport over the store; cfg needs no Limiter.
func transportOver(tb testing.TB, s weir.Store, cfg weir.TransportConfig) *weir.Transport {
	tb.Helper()
	cfg.Limiter = transportLimiter(tb, s)
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
