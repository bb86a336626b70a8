package weir_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/upstream"
)

// overLimiter returns a Transport on a limiter and a base, for one key.
func overLimiter(t *testing.T, l *weir.Limiter, base http.RoundTripper, change func(*weir.TransportConfig)) *weir.Transport {
	t.Helper()
	cfg := weir.TransportConfig{Limiter: l, Base: base, Key: weir.KeyStatic("key")}
	if change != nil {
		change(&cfg)
	}
	tr, err := weir.NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func getRequest(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestRefusingTransportWithLeases: with Refuse and InFlight together the real cost is
// settled. If a wider limit refuses, the units of the narrow one come back.
func TestRefusingTransportWithLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: buckets(weir.Per(1000, time.Hour)), InFlight: 4})
		left := func(want int64) {
			t.Helper()
			if d, err := l.Peek(t.Context(), "key"); err != nil || d.Remaining != want {
				t.Errorf("%d remaining, want %d (%v)", d.Remaining, want, err)
			}
		}
		tr := overLimiter(t, l, answer("", http.Header{"X-Cost": {"300"}}), func(cfg *weir.TransportConfig) {
			cfg.Refuse, cfg.Settle = true, fromHeader
			cfg.Cost = func(*http.Request) (int64, error) { return 500, nil }
		})
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		left(700)

		full := onLocal(t, weir.Config{Limits: buckets(weir.Per(1, time.Hour)), Name: "full"})
		if _, err := full.Allow(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		tr = overLimiter(t, l, transportUnused(t), func(cfg *weir.TransportConfig) {
			cfg.Refuse, cfg.Levels = true, []weir.TransportLevel{{Limiter: full, Key: weir.KeyStatic("key")}}
		})
		if _, err := tr.RoundTrip(getRequest(t, t.Context())); !errors.Is(err, weir.ErrLimited) {
			t.Errorf("error %v, want a refusal", err)
		}
		synctest.Wait()
		left(700)
	})
}

// panicking is a dialect that panics.
type panicking struct{}

func (panicking) Budgets(http.Header, time.Time) []upstream.Budget { panic("dialect") }

// TestPanicAfterTheResponse: a panic in the caller's own functions leaves neither
// a body open nor a call in flight.
func TestPanicAfterTheResponse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*weir.TransportConfig){
		"settle": func(cfg *weir.TransportConfig) {
			cfg.Settle = func(*http.Response, *weir.BodyEnd) (int64, bool) { panic("settle") }
		},
		"dialect": func(cfg *weir.TransportConfig) {
			cfg.Upstream = &upstream.Reader{Dialects: map[string]upstream.Dialect{"example.com": panicking{}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := &scriptedBase{steps: []scriptedStep{{status: 200, body: "body"}}}
				l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(1)), InFlight: 1})
				tr := overLimiter(t, l, base, change)
				func() {
					defer func() {
						if recover() == nil {
							t.Error("no panic")
						}
					}()
					_, _ = tr.RoundTrip(getRequest(t, t.Context()))
				}()
				base.check(t)
				synctest.Wait()
				if keys, _ := l.Flights(); keys != 0 {
					t.Errorf("%d keys are in flight", keys)
				}
			})
		})
	}
}

// TestUnderWayIsOver: a request is under way while the base has it, and not afterwards,
// however the base ends.
func TestUnderWayIsOver(t *testing.T) {
	t.Parallel()
	answer := func() *http.Response { return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody} }
	failed := errors.New("base")
	settle := func(*http.Response, *weir.BodyEnd) (int64, bool) { panic("settle") }
	for name, test := range map[string]struct {
		base   func() (*http.Response, error)
		settle weir.SettleFunc
	}{
		"response":        {func() (*http.Response, error) { return answer(), nil }, nil},
		"error":           {func() (*http.Response, error) { return nil, failed }, nil},
		"both":            {func() (*http.Response, error) { return answer(), failed }, nil},
		"neither":         {func() (*http.Response, error) { return nil, nil }, nil},
		"panic":           {func() (*http.Response, error) { panic("base") }, nil},
		"panic in Settle": {func() (*http.Response, error) { return answer(), nil }, settle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tr *weir.Transport
			base := transportFunc(func(*http.Request) (*http.Response, error) {
				if n := tr.UnderWay(); n != 1 {
					t.Errorf("%d under way with the base, want 1", n)
				}
				return test.base()
			})
			l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(1))})
			tr = overLimiter(t, l, base, func(cfg *weir.TransportConfig) { cfg.Settle = test.settle })
			func() {
				defer func() { _ = recover() }()
				_, _ = tr.RoundTrip(getRequest(t, t.Context()))
			}()
			if n := tr.UnderWay(); n != 0 {
				t.Errorf("%d under way after it, want 0", n)
			}
		})
	}
}

// upgraded is the body of 101 Switching Protocols.
type upgraded struct {
	io.Reader
	strings.Builder
	closed, shut int
}

func (u *upgraded) Close() error      { u.closed++; return nil }
func (u *upgraded) CloseWrite() error { u.shut++; return nil }

// TestProtocolSwitchKeepsItsBody: a wrapped body of a protocol switch can be written to,
// and its writing half closed, as httputil.ReverseProxy does.
func TestProtocolSwitchKeepsItsBody(t *testing.T) {
	t.Parallel()
	settle := func(_ *http.Response, end *weir.BodyEnd) (int64, bool) { return 1, end != nil }
	for name, test := range map[string]struct {
		inFlight int64
		settle   weir.SettleFunc
	}{
		"neither": {}, "leases": {1, nil}, "settling": {0, settle}, "both": {1, settle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				body := &upgraded{Reader: strings.NewReader("read")}
				l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(1)), InFlight: test.inFlight})
				tr := overLimiter(t, l, roundTripper(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 101, Header: http.Header{}, Body: body}, nil
				}), func(cfg *weir.TransportConfig) { cfg.Settle = test.settle })
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				if same := resp.Body == io.ReadCloser(body); same != (name == "neither") {
					t.Errorf("the same body: %v", same)
				}
				rw, ok := resp.Body.(io.ReadWriteCloser)
				if !ok {
					t.Fatalf("%T is no io.ReadWriteCloser", resp.Body)
				}
				if _, err := io.WriteString(rw, "written"); err != nil || body.String() != "written" {
					t.Errorf("wrote %q, %v", body.String(), err)
				}
				half, ok := resp.Body.(interface{ CloseWrite() error })
				if !ok {
					t.Fatalf("%T has no CloseWrite", resp.Body)
				}
				if err := half.CloseWrite(); err != nil || body.shut != 1 || body.closed != 0 {
					t.Errorf("CloseWrite: %v, %d times; closed %d times", err, body.shut, body.closed)
				}
				if text, err := io.ReadAll(rw); string(text) != "read" || err != nil {
					t.Errorf("read %q, %v", text, err)
				}
				if err := rw.Close(); err != nil || body.closed != 1 {
					t.Errorf("Close: %v, %d times", err, body.closed)
				}
				synctest.Wait()
			})
		})
	}
}

// TestUnclosedBodyIsNotInFlightForEver: a second after the end of a request's context its lease
// ends, though its body is never closed. A switched connection outlives the context, and keeps the lease.
func TestUnclosedBodyIsNotInFlightForEver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status    int
		settle    weir.SettleFunc
		canceled  bool
		stillHeld int64
	}{
		"an endless context":      {200, nil, false, 1},
		"an ended one":            {200, nil, true, 0},
		"an ended one, to settle": {200, fromHeader, true, 0},
		"a switch of protocols":   {101, nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(9)), InFlight: 1, Lease: 5 * time.Second})
				tr := overLimiter(t, l, roundTripper(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: test.status, Header: http.Header{}, Body: &upgraded{Reader: strings.NewReader("read")}}, nil
				}), func(cfg *weir.TransportConfig) { cfg.Settle = test.settle })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, err := tr.RoundTrip(getRequest(t, ctx))
				if err != nil {
					t.Fatal(err)
				}
				if test.canceled {
					cancel()
				}
				time.Sleep(time.Minute) // The lease is renewed while it is held.
				if _, held := l.Stats(); held != test.stillHeld {
					t.Errorf("%d in flight, want %d", held, test.stillHeld)
				}
				_ = resp.Body.Close()
				if _, held := l.Stats(); held != 0 {
					t.Errorf("%d in flight after Close", held)
				}
				synctest.Wait()
			})
		})
	}
}

// blockedBody is a body whose Read blocks until Close, and then returns bytes.
type blockedBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *blockedBody) Read(p []byte) (int, error) {
	<-b.closed
	return copy(p, "late"), nil
}

func (b *blockedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// TestBodyClosedWhileItIsRead: the BodyEnd of a SettleFunc does not change during its
// call.
func TestBodyClosedWhileItIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ends atomic.Int64
		settle := func(_ *http.Response, end *weir.BodyEnd) (int64, bool) {
			if end == nil {
				return 0, false
			}
			ends.Add(1)
			bytes := end.Bytes
			time.Sleep(time.Second) // The read returns meanwhile.
			if end.Bytes != bytes || int64(len(end.Tail)) != bytes || end.Whole {
				t.Errorf("the BodyEnd is %+v, and had %d bytes before", end, bytes)
			}
			return 1, true
		}
		l := onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(1))})
		tr := overLimiter(t, l, roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &blockedBody{closed: make(chan struct{})}}, nil
		}), func(cfg *weir.TransportConfig) { cfg.Settle = settle })
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = resp.Body.Read(make([]byte, 10))
			_, _ = resp.Body.Read(make([]byte, 10))
		}()
		synctest.Wait()
		_ = resp.Body.Close()
		if ends.Load() != 1 {
			t.Errorf("%d ends", ends.Load())
		}
	})
}

// TestRoundTripKeepsTheCause: an error has the cause of the context's end, as in
// net/http.
func TestRoundTripKeepsTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user has left")
	cancelled := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(parent)
		if after == 0 {
			cancel(cause)
			return ctx, func() {}
		}
		timer := time.AfterFunc(after, func() { cancel(cause) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
	overdue := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(parent, after, cause)
	}
	plain := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, after)
	}
	for name, c := range map[string]struct {
		with  func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc)
		after time.Duration
		store *transportStore
		is    []error
		not   error
	}{
		"cancelled before":          {cancelled, 0, &transportStore{}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"cancelled in the wait":     {cancelled, time.Second, &transportStore{delay: time.Hour}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"cancelled in the store":    {cancelled, time.Second, &transportStore{block: true}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"overdue in the store":      {overdue, time.Second, &transportStore{block: true}, []error{context.DeadlineExceeded, cause}, context.Canceled},
		"overdue, no cause":         {plain, time.Second, &transportStore{block: true}, []error{context.DeadlineExceeded}, cause},
		"a slot past the deadline":  {overdue, time.Second, &transportStore{delay: time.Hour}, []error{weir.ErrLimited}, cause},
		"the store fails by itself": {cancelled, time.Hour, &transportStore{err: errors.New("down")}, []error{weir.ErrStore}, cause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, refuse := range []bool{false, true} {
					if refuse && c.store.delay > 0 {
						continue
					}
					ctx, cancel := c.with(t.Context(), c.after)
					defer cancel()
					client := &http.Client{Transport: transportOver(t, c.store, weir.TransportConfig{Base: transportUnused(t), Refuse: refuse})}
					_, err := client.Do(getRequest(t, ctx))
					for _, is := range c.is {
						if !errors.Is(err, is) {
							t.Errorf("%v is not %v", err, is)
						}
					}
					if err == nil || errors.Is(err, c.not) {
						t.Errorf("%v is %v", err, c.not)
					}
				}
				synctest.Wait()
			})
		})
	}
}

// TestBaseSendsAgain: net/http repeats a GET whose kept connection died, below the Transport. It
// is charged once. Without kept connections each request arrives once.
func TestBaseSendsAgain(t *testing.T) {
	t.Parallel()
	const requests = 10
	type served struct{ n int }
	type key struct{}
	for name, c := range map[string]struct {
		disabled bool
		arrivals int64
	}{
		"kept connections":    {false, 2*requests - 1},
		"no kept connections": {true, requests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrivals atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				arrivals.Add(1)
				on := r.Context().Value(key{}).(*served)
				if on.n++; on.n == 2 {
					panic(http.ErrAbortHandler) // It closes the connection without a response.
				}
			}))
			server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
				return context.WithValue(ctx, key{}, new(served))
			}
			server.Start()
			defer server.Close()
			s := &transportStore{}
			tr := overLimiter(t, transportLimiter(t, s), &http.Transport{DisableKeepAlives: c.disabled}, nil)
			defer tr.CloseIdleConnections()
			for range requests {
				resp, err := (&http.Client{Transport: tr}).Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if got := arrivals.Load(); got != c.arrivals || len(s.granted) != requests {
				t.Errorf("%d arrivals and %d units, want %d and %d", got, len(s.granted), c.arrivals, requests)
			}
		})
	}
}
