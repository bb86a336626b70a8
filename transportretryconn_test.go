package weir_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
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
)

func retryServer(tb testing.TB, h http.HandlerFunc) (url string) {
	tb.Helper()
	srv := httptest.NewServer(h)
	tb.Cleanup(srv.Close)
	return srv.URL
}

// retryClient returns a client that retries at once and its network.
func retryClient(tb testing.TB, retry weir.Retry) *http.Client {
	tb.Helper()
	network := &http.Transport{}
	tb.Cleanup(network.CloseIdleConnections)
	retry.Backoff, retry.MaxBackoff = 1, 1 // no wait between attempts
	return &http.Client{Transport: transportOver(tb, transportFree{}, weir.TransportConfig{Base: network, Retry: retry})}
}

// retryPipes is a network in memory, for tests that count connections: in real
// time net/http gives a connection up when the machine is too busy to tell it
// within 50 ms that a request was written.
type retryPipes struct {
	conns  chan net.Conn
	dials  atomic.Int32
	closed chan struct{}
}

func (p *retryPipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *retryPipes) Close() error {
	close(p.closed)
	return nil
}

func (p *retryPipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *retryPipes) dial(context.Context, string, string) (net.Conn, error) {
	p.dials.Add(1)
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

// retryNetwork runs f inside synctest with a client that retries, of the
// handler.
func retryNetwork(t *testing.T, h http.HandlerFunc, retry weir.Retry, f func(*http.Client, *retryPipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipes := &retryPipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{Handler: h}
		go func() { _ = srv.Serve(pipes) }()
		network := &http.Transport{DialContext: pipes.dial}
		f(&http.Client{Transport: transportOver(t, transportFree{}, weir.TransportConfig{Base: network, Retry: retry})}, pipes)
		network.CloseIdleConnections()
		_ = srv.Close()
		synctest.Wait()
	})
}

// TestRetriesUseOneConnection, a hundred of them, whatever the responses that
// they replace are like, and send the same bytes each time.
func TestRetriesUseOneConnection(t *testing.T) {
	t.Parallel()
	const times = 100
	sent := retryText(10 << 10)
	for name, refuse := range map[string]http.HandlerFunc{
		"empty": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"short": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "slow down", http.StatusTooManyRequests) },
		"chunked, 60 KiB, with a trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(http.StatusTooManyRequests)
			for range 60 {
				_, _ = io.WriteString(w, sent[:1<<10])
				_ = http.NewResponseController(w).Flush()
			}
			w.Header().Set("X-Sum", "1")
		},
		"64 KiB of known length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "65536")
			w.WriteHeader(http.StatusTooManyRequests)
			for range 64 {
				_, _ = io.WriteString(w, sent[:1<<10])
			}
		},
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
						refuse(w, r)
						return
					}
					_, _ = io.WriteString(w, "fine")
				}
				retryNetwork(t, answer, weir.Retry{Times: times}, func(client *http.Client, pipes *retryPipes) {
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
					if attempts.Load() != times+1 || pipes.dials.Load() != 1 || wrong.Load() != 0 {
						t.Errorf("%d attempts over %d connections, %d bodies were wrong", attempts.Load(), pipes.dials.Load(), wrong.Load())
					}
				})
			})
		}
	}
}

// TestRetryLastRealResponse keeps what http.Transport found: length, trailers,
// compression.
func TestRetryLastRealResponse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		size         int
		length, gzip bool
		conns        int32
	}{
		{"empty", 0, false, false, 1},
		{"short", 1 << 10, false, false, 1},
		{"short, compressed", 1 << 10, false, true, 1},
		{"long", 200 << 10, false, false, 3}, // what is too long to be read is cut off
		{"long, of known length", 200 << 10, true, false, 3},
		{"long, compressed", 200 << 10, false, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := retryText(c.size)
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
				_, _ = io.WriteString(to, text)
				w.Header().Set("X-Sum", "1")
			}
			retryNetwork(t, answer, weir.Retry{Times: 2}, func(client *http.Client, pipes *retryPipes) {
				resp, err := client.Get("http://api.example/")
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != text || resp.Uncompressed != c.gzip {
					t.Errorf("%d bytes of %d, %v; uncompressed %t", len(got), c.size, err, resp.Uncompressed)
				}
				if c.length != (resp.ContentLength == int64(c.size)) || c.length != (resp.Trailer.Get("X-Sum") == "") {
					t.Errorf("length %d, trailer %v", resp.ContentLength, resp.Trailer)
				}
				_ = resp.Body.Close()
				if n := pipes.dials.Load(); n != c.conns {
					t.Errorf("%d connections, want %d", n, c.conns)
				}
			})
		})
	}
}

// TestRetryRealErrors: a connection that breaks is tried again when told to,
// and never a POST.
func TestRetryRealErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method   string
		times    int32
		attempts int32
	}{{http.MethodPut, 3, 4}, {http.MethodPost, 3, 1}} {
		var attempts atomic.Int32
		url := retryServer(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if attempts.Add(1) <= c.times {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(body)
		})
		req, err := http.NewRequestWithContext(t.Context(), c.method, url, bytes.NewReader([]byte("hello")))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := retryClient(t, weir.Retry{Times: int(c.times), Errors: true}).Do(req)
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
}

// TestRetryConcurrentUse, with contexts that end at any moment: what was opened
// is closed, and everybody gets an outcome of their own.
func TestRetryConcurrentUse(t *testing.T) {
	t.Parallel()
	const callers, each = 16, 30
	var n atomic.Int32
	url := retryServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if n.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(body)
	})
	client := retryClient(t, weir.Retry{Times: 4})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if j%3 == 0 {
					time.AfterFunc(time.Duration(j)*50*time.Microsecond, cancel)
				}
				text := fmt.Sprint(i, " ", j)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
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
}
