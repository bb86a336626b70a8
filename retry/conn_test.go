package retry_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
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
	"github.com/goweir/weir/retry"
)

// pipes is a network in memory, for tests that count connections: in real time
// net/http gives a connection up when the machine is too busy to report within
// 50 ms that a request was written.
type pipes struct {
	conns  chan net.Conn
	dials  atomic.Int32
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	p.dials.Add(1)
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

// inMemory runs f inside synctest with a client of the handler that tries again.
func inMemory(t *testing.T, h http.HandlerFunc, cfg retry.Config, f func(*http.Client, *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{Handler: h}
		go func() { _ = srv.Serve(network) }()
		tr := over(t, &http.Transport{DialContext: network.dial}, cfg)
		f(&http.Client{Transport: tr}, network)
		tr.CloseIdleConnections()
		_ = srv.Close()
		synctest.Wait()
	})
}

// TestOneConnection: one connection serves a hundred attempts, if they replace short
// responses of any kind. Each attempt sends the same bytes. A long response costs a
// connection.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	const times = 100
	sent := text(10 << 10)
	for name, c := range map[string]struct {
		refuse http.HandlerFunc
		cut    bool // each response costs its connection, unless it answers HEAD
	}{
		"empty": {refuse: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }},
		"short": {refuse: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "slow down", http.StatusTooManyRequests) }},
		"chunked, with a trailer": {refuse: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(http.StatusTooManyRequests)
			for range 3 {
				_, _ = io.WriteString(w, sent[:1<<10])
				_ = http.NewResponseController(w).Flush()
			}
			w.Header().Set("X-Sum", "1")
		}},
		"4 KiB of known length": {refuse: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, sent[:4<<10])
		}},
		"compressed": {refuse: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusTooManyRequests)
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, "slow down")
			_ = z.Close()
		}},
		"long": {cut: true, refuse: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			for range 20 {
				_, _ = io.WriteString(w, sent)
			}
		}},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				var attempts, wrong atomic.Int32
				answer := func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if method == http.MethodPost && (string(body) != sent || r.ContentLength != int64(len(sent))) {
						wrong.Add(1)
					}
					if attempts.Add(1) <= times {
						c.refuse(w, r)
						return
					}
					_, _ = io.WriteString(w, "fine")
				}
				inMemory(t, answer, retry.Config{Max: times, Budget: 100 * times}, func(client *http.Client, network *pipes) {
					var body io.Reader
					if method == http.MethodPost {
						body = strings.NewReader(sent)
					}
					req, err := http.NewRequest(method, "http://api.example/", body)
					if err != nil {
						t.Fatal(err)
					}
					resp, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if resp.StatusCode != 200 || string(got) != "fine" && method != http.MethodHead || err != nil {
						t.Errorf("status %d, body %q, %v", resp.StatusCode, got, err)
					}
					conns := int32(1)
					if c.cut && method != http.MethodHead {
						conns += times
					}
					if attempts.Load() != times+1 || network.dials.Load() != conns || wrong.Load() != 0 {
						t.Errorf("%d attempts over %d connections, want %d, %d bodies were wrong", attempts.Load(), network.dials.Load(), conns, wrong.Load())
					}
				})
			})
		}
	}
}

// TestLastRealResponse keeps the length, the trailers and the compression that
// http.Transport found.
func TestLastRealResponse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		size         int
		length, gzip bool
	}{
		{"empty", 0, false, false},
		{"short", 1 << 10, false, false},
		{"short, compressed", 1 << 10, false, true},
		{"long", 200 << 10, false, false},
		{"long, of known length", 200 << 10, true, false},
		{"long, compressed", 200 << 10, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := text(c.size)
			answer := func(w http.ResponseWriter, _ *http.Request) {
				if c.length {
					w.Header().Set("Content-Length", fmt.Sprint(c.size))
				} else {
					w.Header().Set("Trailer", "X-Sum")
				}
				var to io.Writer = w
				if c.gzip {
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					defer z.Close()
					to = z
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(to, whole)
				w.Header().Set("X-Sum", "1")
			}
			inMemory(t, answer, retry.Config{}, func(client *http.Client, _ *pipes) {
				resp, err := client.Get("http://api.example/")
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != whole || resp.Uncompressed != c.gzip {
					t.Errorf("%d bytes of %d, %v; uncompressed %t", len(got), c.size, err, resp.Uncompressed)
				}
				if c.length != (resp.ContentLength == int64(c.size)) || c.length != (resp.Trailer.Get("X-Sum") == "") {
					t.Errorf("length %d, trailer %v", resp.ContentLength, resp.Trailer)
				}
				_ = resp.Body.Close()
			})
		})
	}
}

// TestRedirects: each hop has attempts of its own, and the body goes along.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var got []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+string(body))
		switch {
		case len(got)%2 == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}
	}
	inMemory(t, answer, retry.Config{Max: 1}, func(client *http.Client, _ *pipes) {
		req, err := http.NewRequest(http.MethodPut, "http://api.example/", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
	})
	if want := "/ hello, / hello, /there hello, /there hello"; strings.Join(got, ", ") != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// TestClientTimeout covers the pauses: a pause that would pass it is not begun.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}
	inMemory(t, answer, retry.Config{Max: 5}, func(client *http.Client, _ *pipes) {
		client.Timeout = 25 * time.Second
		start := time.Now()
		resp, err := client.Get("http://api.example/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != "slow down\n" || err != nil || time.Since(start) != 20*time.Second {
			t.Errorf("body %q, %v after %v", body, err, time.Since(start))
		}
	})
}

// TestSilentRefusal: the body of a refusal stays open and silent. It holds neither an
// attempt nor the outcome up for longer than its pause.
func TestSilentRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		max   int
		after string // Retry-After
		want  int
		most  time.Duration
	}{
		"tried again": {max: 1, after: "3", want: http.StatusOK, most: 3 * time.Second},
		"kept":        {max: 1, after: "9000", want: http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			answer := func(w http.ResponseWriter, r *http.Request) {
				if attempts++; attempts > 1 {
					return
				}
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(http.StatusServiceUnavailable)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			inMemory(t, answer, retry.Config{Max: c.max}, func(client *http.Client, _ *pipes) {
				start := time.Now()
				resp, err := client.Get("http://api.example/")
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if took := time.Since(start); resp.StatusCode != c.want || took != c.most {
					t.Errorf("%s after %v, want %d after %v", resp.Status, took, c.want, c.most)
				}
			})
		})
	}
}

// TestRealTimeouts of http.Transport are tried again: they are not the end of the
// request's context, though they match context.DeadlineExceeded.
func TestRealTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		network := &http.Transport{ResponseHeaderTimeout: time.Second, DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }() // and never answers
			return client, nil
		}}
		req, _ := request(t, "GET", "")
		_, err := over(t, network, retry.Config{}).RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) || dials.Load() != 3 {
			t.Errorf("%v after %d attempts", err, dials.Load())
		}
		synctest.Wait()
	})
}

// client returns a client of the handler over a real network, without pauses.
func client(tb testing.TB, srv *httptest.Server, cfg retry.Config) *http.Client {
	tb.Helper()
	tb.Cleanup(srv.Close)
	network := &http.Transport{}
	tb.Cleanup(network.CloseIdleConnections)
	cfg.Backoff, cfg.MaxBackoff = 1, 1
	return &http.Client{Transport: over(tb, network, cfg)}
}

// TestRealErrors: a request whose connection breaks is sent again, unless it is a POST. An
// untrusted certificate ends the attempts.
func TestRealErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method   string
		attempts int32
	}{{http.MethodPut, 4}, {http.MethodPost, 1}} {
		var attempts atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if attempts.Add(1) <= 3 {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(body)
		}))
		req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client(t, srv, retry.Config{Max: 3}).Do(req)
		if (err == nil) != (c.attempts > 1) || attempts.Load() != c.attempts {
			t.Errorf("%s: %v after %d attempts, want %d", c.method, err, attempts.Load(), c.attempts)
		}
		if err == nil {
			if got, _ := io.ReadAll(resp.Body); string(got) != "hello" {
				t.Errorf("%s: sent %q", c.method, got)
			}
			_ = resp.Body.Close()
		}
	}
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	further := 0
	_, err := client(t, srv, retry.Config{Observe: func(*http.Request, retry.Attempt) { further++ }}).Get(srv.URL)
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) || further != 0 {
		t.Errorf("%v after %d further attempts", err, further)
	}
}

// TestConcurrentUse around a weir.Transport, with contexts that end at any moment: every
// body is closed, and every caller gets an outcome of its own.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const callers, each, inFlight = 16, 30, 8
	var n, now, most atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if n.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	transport, limiter := limited(t, baseFunc(func(r *http.Request) (*http.Response, error) {
		if is := now.Add(1); is > most.Load() {
			most.Store(is)
		}
		defer now.Add(-1)
		return network.RoundTrip(r)
	}), weir.PerSecond(100_000).WithBurst(100_000), inFlight, false)
	client := &http.Client{Transport: over(t, transport, retry.Config{Max: 4, Budget: 400, Backoff: 1, MaxBackoff: 1})}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if j%3 == 0 {
					time.AfterFunc(time.Duration(j)*50*time.Microsecond, cancel)
				}
				text := fmt.Sprint(i, " ", j)
				req, err := http.NewRequestWithContext(ctx, http.MethodPut, srv.URL, strings.NewReader(text))
				if err != nil {
					t.Error(err)
				}
				resp, err := client.Do(req)
				if err == nil {
					var got []byte
					got, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err == nil && string(got) != text {
						t.Errorf("got %q for %q", got, text)
					}
				}
				if err != nil && !(errors.Is(err, context.Canceled) && j%3 == 0) {
					t.Errorf("%s: %v", text, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if most.Load() > inFlight {
		t.Errorf("%d attempts in flight, want at most %d", most.Load(), inFlight)
	}
	lease, err := limiter.AcquireN(t.Context(), "key", 0)
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}
