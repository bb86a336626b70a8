package weir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a response with a body and headers.
func answer(body string, header http.Header) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		h := header.Clone()
		if h == nil {
			h = http.Header{}
		}
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
	}
}

// fromHeader settles the cost in X-Cost.
func fromHeader(resp *http.Response, _ *weir.BodyEnd) (int64, bool) {
	n, err := strconv.ParseInt(resp.Header.Get("X-Cost"), 10, 64)
	return n, err == nil
}

// fromUsage settles the cost at the end of a JSON body.
func fromUsage(_ *http.Response, end *weir.BodyEnd) (int64, bool) {
	if end == nil {
		return 0, false
	}
	at := bytes.LastIndex(end.Tail, []byte(`{"tokens"`))
	var usage struct{ Tokens int64 }
	if at < 0 || json.NewDecoder(bytes.NewReader(end.Tail[at:])).Decode(&usage) != nil {
		return 0, false
	}
	return usage.Tokens, true
}

// fromHead settles the cost at the beginning of a body.
func fromHead(_ *http.Response, end *weir.BodyEnd) (n int64, known bool) {
	if end == nil {
		return 0, false
	}
	_, err := fmt.Sscanf(string(end.Head), `{"tokens":%d}`, &n)
	return n, err == nil
}

func fromBytes(_ *http.Response, end *weir.BodyEnd) (int64, bool) {
	if end == nil {
		return 0, false
	}
	return end.Bytes, end.Whole
}

func TestTransportSettles(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}
	proxied := &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial}
	long := strings.Repeat("x", 10_000) + `{"tokens":300}`
	for name, test := range map[string]struct {
		base   roundTripper
		settle weir.SettleFunc
		read   bool // the body to its end, before it is closed
		want   int64
	}{
		"less, by a header":               {answer("", http.Header{"X-Cost": {"300"}}), fromHeader, false, 700},
		"more, by a header":               {answer("", http.Header{"X-Cost": {"1500"}}), fromHeader, false, 0},
		"nothing, by a header":            {answer("", http.Header{"X-Cost": {"0"}}), fromHeader, false, 1000},
		"not known":                       {answer("", nil), fromHeader, true, 0},
		"a cost that can't be":            {answer("", http.Header{"X-Cost": {"-5"}}), fromHeader, false, 0},
		"by the end of the body":          {answer(long, nil), fromUsage, true, 700},
		"by a body that is not read":      {answer(long, nil), fromUsage, false, 0},
		"by the beginning of the body":    {answer(`{"tokens":300}`+strings.Repeat("x", 10_000), nil), fromHead, true, 700},
		"by the bytes":                    {answer(strings.Repeat("x", 250), nil), fromBytes, true, 750},
		"an error before it was sent":     {func(*http.Request) (*http.Response, error) { return nil, dial }, fromHeader, false, 1000},
		"a proxy that is away":            {func(*http.Request) (*http.Response, error) { return nil, proxied }, fromHeader, false, 1000},
		"an error after it may have been": {func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, fromHeader, false, 0},
	} {
		for i := range 4 {
			refuse, inFlight := i%2 == 1, int64(i/2*5)
			t.Run(fmt.Sprintf("%s, refuse %v, in flight %d", name, refuse, inFlight), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := onLocal(t, weir.Config{Limits: buckets(weir.Per(1000, time.Hour)), InFlight: inFlight})
					tr, err := weir.NewTransport(weir.TransportConfig{
						Limiter: l, Base: test.base, Settle: test.settle, Refuse: refuse, Key: weir.KeyStatic("key"),
						Cost: func(*http.Request) (int64, error) { return 1000, nil },
					})
					if err != nil {
						t.Fatal(err)
					}
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/", nil)
					resp, err := tr.RoundTrip(req)
					if err == nil {
						if test.read {
							_, _ = io.Copy(io.Discard, resp.Body)
						}
						_ = resp.Body.Close()
						_ = resp.Body.Close() // Twice settles once.
					}
					d, err := l.Peek(t.Context(), "key")
					if err != nil || d.Remaining != test.want {
						t.Errorf("%d remaining, want %d (%v)", d.Remaining, test.want, err)
					}
				})
			})
		}
	}
}

// TestProxyDown: net/http's error says that there was no connection, if a proxy can't be
// reached or can't reach the upstream. So the request costs nothing.
func TestProxyDown(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	socks, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socks.Close() })
	go refuseSocks(socks)
	for name, test := range map[string]struct{ proxy, target string }{
		"no proxy":                     {"", "http://" + nobody.Addr().String()},
		"a proxy":                      {"http://" + nobody.Addr().String(), "http://api.example"},
		"a tunnel through a proxy":     {"http://" + nobody.Addr().String(), "https://api.example"},
		"a SOCKS proxy":                {"socks5://" + nobody.Addr().String(), "http://api.example"},
		"a SOCKS proxy's way from it":  {"socks5://" + socks.Addr().String(), "http://api.example"},
		"a SOCKS proxy's own resolver": {"socks5h://" + socks.Addr().String(), "http://api.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Transport{}
			if test.proxy != "" {
				u, err := url.Parse(test.proxy)
				if err != nil {
					t.Fatal(err)
				}
				base.Proxy = http.ProxyURL(u)
			}
			l := onLocal(t, weir.Config{Limits: buckets(weir.PerHour(10))})
			tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
				cfg.Cost = func(*http.Request) (int64, error) { return 5, nil }
				cfg.Settle = fromHeader
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.target, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("a port without a listener answered")
			}
			if left := remaining(l, "key", 10); left != 10 {
				t.Errorf("%d of 10 remaining after %q", left, err)
			}
		})
	}
}

// refuseSocks is a SOCKS 5 proxy that can't reach any host.
func refuseSocks(on net.Listener) {
	for {
		c, err := on.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 300)
		_, _ = c.Read(buf) // the client's methods of authentication
		_, _ = c.Write([]byte{5, 0})
		_, _ = c.Read(buf) // the wanted address
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		_ = c.Close()
	}
}

func TestTransportSettleNeedsASettler(t *testing.T) {
	t.Parallel()
	_, err := weir.NewTransport(weir.TransportConfig{
		Limiter: onLocal(t, weir.Config{Store: plainStore{}, Limits: buckets(weir.PerSecond(1))}), Key: weir.KeyHost(), Settle: fromHeader,
	})
	if !errors.Is(err, weir.ErrConfig) {
		t.Errorf("%v", err)
	}
}

// TestTransportInFlight: a request is in flight until its response's body has ended,
// however it ends. Never are more in flight than InFlight.
func TestTransportInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		flying, most := 0, 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			flying++
			most = max(most, flying)
			mu.Unlock()
			down := func() {
				mu.Lock()
				flying--
				mu.Unlock()
			}
			time.Sleep(10 * ms)
			switch r.URL.Path {
			case "/error":
				down()
				return nil, errors.New("cut off")
			case "/panic":
				down()
				panic("base")
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &ending{Reader: strings.NewReader("body"), ended: down}}, nil
		})
		members := make([]*weir.Transport, 3)
		for i := range members {
			l := onLocal(t, weir.Config{Store: store, Limits: buckets(weir.PerSecond(1000)), InFlight: 4, Lease: 10 * time.Second})
			if members[i], err = weir.NewTransport(weir.TransportConfig{Limiter: l, Base: base, Key: weir.KeyStatic("key")}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if i%7 == 0 {
					ctx, cancel = context.WithTimeout(ctx, 50*ms)
				}
				defer cancel()
				defer func() { _ = recover() }()
				path := []string{"/", "/", "/error", "/panic"}[i%4]
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com"+path, nil)
				resp, err := members[i%3].RoundTrip(req)
				if err != nil {
					return
				}
				time.Sleep(5 * ms)
				if i%8 == 0 {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
				_ = resp.Body.Close()
			})
		}
		wg.Wait()
		if most != 4 {
			t.Errorf("at most %d were in flight, want 4", most)
		}
		time.Sleep(time.Second)
		// All places are free again.
		l := onLocal(t, weir.Config{Store: store, Limits: buckets(weir.PerSecond(1000)), InFlight: 4})
		for range 4 {
			lease, err := l.TryAcquire(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
		}
	})
}

// ending is a body that calls a function once, at its end or when it is closed.
type ending struct {
	io.Reader
	once  sync.Once
	ended func()
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		e.once.Do(e.ended)
	}
	return n, err
}

func (e *ending) Close() error {
	e.once.Do(e.ended)
	return nil
}
