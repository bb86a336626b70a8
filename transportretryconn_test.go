package weir_test

import (
	"bytes"
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
	"time"

	"github.com/goweir/weir"
)

// retryServer counts its connections. Close it after the client's.
func retryServer(tb testing.TB, h http.HandlerFunc) (url string, conns *atomic.Int32) {
	tb.Helper()
	conns = new(atomic.Int32)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	tb.Cleanup(srv.Close)
	return srv.URL, conns
}

// retryClient returns a client that retries at once and its network.
func retryClient(tb testing.TB, retry weir.Retry) *http.Client {
	tb.Helper()
	network := &http.Transport{}
	tb.Cleanup(network.CloseIdleConnections)
	retry.Backoff, retry.MaxBackoff = 1, 1 // no wait between attempts
	return &http.Client{Transport: transportOver(tb, transportFree{}, weir.TransportConfig{Base: network, Retry: retry})}
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
				_, _ = io.WriteString(w, retryText(1<<10))
				_ = http.NewResponseController(w).Flush()
			}
			w.Header().Set("X-Sum", "1")
		},
		"64 KiB of known length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "65536")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, retryText(64<<10))
		},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				var attempts, wrong atomic.Int32
				url, conns := retryServer(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if method == http.MethodPost && (string(body) != sent || r.ContentLength != int64(len(sent))) {
						wrong.Add(1)
					}
					if attempts.Add(1) <= times {
						refuse(w, r)
						return
					}
					_, _ = io.WriteString(w, "fine")
				})
				var body io.Reader
				if method == http.MethodPost {
					body = strings.NewReader(sent)
				}
				req, err := http.NewRequestWithContext(t.Context(), method, url, body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := retryClient(t, weir.Retry{Times: times}).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != 200 || string(got) != "fine" && method != http.MethodHead || err != nil {
					t.Errorf("status %d, body %q, %v", resp.StatusCode, got, err)
				}
				if attempts.Load() != times+1 || conns.Load() != 1 || wrong.Load() != 0 {
					t.Errorf("%d attempts over %d connections, %d bodies were wrong", attempts.Load(), conns.Load(), wrong.Load())
				}
			})
		}
	}
}

// TestRetryLastRealResponse keeps what http.Transport found: length, trailers,
// compression.
func TestRetryLastRealResponse(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1 << 10, 200 << 10} {
		text := retryText(size)
		url, conns := retryServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("X-Sum", fmt.Sprint(size))
		})
		client := retryClient(t, weir.Retry{Times: 2})
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != text || resp.ContentLength != -1 || resp.Trailer.Get("X-Sum") != fmt.Sprint(size) {
			t.Errorf("%d bytes of %d, %v; length %d, trailer %v", len(got), size, err, resp.ContentLength, resp.Trailer)
		}
		_ = resp.Body.Close()
		want := int32(1)
		if size > 64<<10 {
			want = 3 // what is too long to be read is cut off
		}
		if conns.Load() != want {
			t.Errorf("%d bytes: %d connections, want %d", size, conns.Load(), want)
		}
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
		url, _ := retryServer(t, func(w http.ResponseWriter, r *http.Request) {
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
	url, _ := retryServer(t, func(w http.ResponseWriter, r *http.Request) {
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
