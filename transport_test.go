package weir_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

func transportPost(tb testing.TB, ctx context.Context, rawURL string) (*http.Request, *transportBody) {
	tb.Helper()
	body := &transportBody{Reader: strings.NewReader("hello")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, rawURL, body)
	if err != nil {
		tb.Fatal(err)
	}
	return req, body
}

func TestNewTransportRefuses(t *testing.T) {
	t.Parallel()
	l := transportLimiter(t, &transportStore{})
	for _, c := range []struct {
		name, field string
		cfg         weir.TransportConfig
	}{
		{"nil limiter", "TransportConfig.Limiter", weir.TransportConfig{}},
		{"zero limiter", "TransportConfig.Limiter", weir.TransportConfig{Limiter: new(weir.Limiter)}},
		{"nil key", "TransportConfig.Key", weir.TransportConfig{Limiter: l}},
		{"negative MaxWait", "TransportConfig.MaxWait", weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), MaxWait: -1}},
		{"MaxWait with Refuse", "TransportConfig.MaxWait", weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), MaxWait: 1, Refuse: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, err := weir.NewTransport(c.cfg)
			var ce *weir.ConfigError
			if tr != nil || !errors.As(err, &ce) || ce.Field != c.field {
				t.Errorf("transport %v, error %v; want a ConfigError for %s", tr, err, c.field)
			}
		})
	}
}

// TestTransportClosesBodyOnce: RoundTrip closes the request's body once on every path.
func TestTransportClosesBodyOnce(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(srv.Close)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	boom := errors.New("boom")
	is := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	limited := func(err error) bool {
		var le *weir.LimitedError
		return errors.Is(err, weir.ErrLimited) && errors.As(err, &le)
	}
	cost := func(n int64, err error) func(*http.Request) (int64, error) {
		return func(*http.Request) (int64, error) { return n, err }
	}
	unused := transportUnused(t)

	for _, c := range []struct {
		name  string
		ctx   context.Context
		url   string
		store *transportStore
		cfg   weir.TransportConfig
		want  func(error) bool // nil: success
	}{
		{name: "success"},
		{name: "success, refusing", cfg: weir.TransportConfig{Refuse: true}},
		{name: "success, cost 0", cfg: weir.TransportConfig{Cost: cost(0, nil)}},
		{name: "refusal", store: &transportStore{delay: time.Hour},
			cfg: weir.TransportConfig{Base: unused, MaxWait: time.Minute}, want: limited},
		{name: "refusal at once", store: &transportStore{delay: time.Hour},
			cfg: weir.TransportConfig{Base: unused, Refuse: true}, want: limited},
		{name: "context ended", ctx: ended, cfg: weir.TransportConfig{Base: unused}, want: is(context.Canceled)},
		{name: "context ended, refusing", ctx: ended,
			cfg: weir.TransportConfig{Base: unused, Refuse: true}, want: is(context.Canceled)},
		{name: "key error", cfg: weir.TransportConfig{Base: unused, Key: weir.KeyHeader("X-User")}, want: is(weir.ErrNoKey)},
		{name: "empty key", cfg: weir.TransportConfig{Base: unused, Key: weir.KeyStatic("")}, want: is(weir.ErrEmptyKey)},
		{name: "cost error", cfg: weir.TransportConfig{Base: unused, Cost: cost(0, boom)}, want: is(boom)},
		{name: "negative cost", cfg: weir.TransportConfig{Base: unused, Cost: cost(-1, nil)},
			want: func(err error) bool {
				var ce *weir.ConfigError
				return errors.As(err, &ce) && ce.Field == "TransportConfig.Cost"
			}},
		{name: "store error", store: &transportStore{err: boom}, cfg: weir.TransportConfig{Base: unused}, want: is(weir.ErrStore)},
		{name: "store error, refusing", store: &transportStore{err: boom},
			cfg: weir.TransportConfig{Base: unused, Refuse: true}, want: is(weir.ErrStore)},
		{name: "base error", url: "unknown-scheme://x/",
			want: func(err error) bool { return strings.Contains(err.Error(), "unsupported protocol scheme") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if c.url == "" {
				c.url = srv.URL
			}
			if c.store == nil {
				c.store = &transportStore{}
			}
			network := &http.Transport{}
			if c.cfg.Base == nil {
				c.cfg.Base = network
			}
			req, body := transportPost(t, c.ctx, c.url)
			resp, err := transportOver(t, c.store, c.cfg).RoundTrip(req)
			if (resp == nil) == (err == nil) {
				t.Fatalf("response %v beside error %v", resp, err)
			}
			switch {
			case c.want == nil:
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := io.ReadAll(resp.Body); string(got) != "hello" {
					t.Errorf("the server received %q", got)
				}
				_ = resp.Body.Close()
				network.CloseIdleConnections()
			case !c.want(err):
				t.Errorf("error %v", err)
			}
			if n := body.closed.Load(); n != 1 {
				t.Errorf("the body was closed %d times", n)
			}
			if c.store.cancels != 0 {
				t.Errorf("%d slots given back", c.store.cancels)
			}
		})
	}
}

func TestTransportClosesBodyWhenKeyPanics(t *testing.T) {
	t.Parallel()
	req, body := transportPost(t, t.Context(), "http://api.example/")
	tr := transportOver(t, &transportStore{}, weir.TransportConfig{
		Base: transportUnused(t),
		Key:  func(*http.Request) (string, error) { panic("key") },
	})
	defer func() {
		if recover() == nil || body.closed.Load() != 1 {
			t.Errorf("the body was closed %d times", body.closed.Load())
		}
	}()
	_, _ = tr.RoundTrip(req)
}

func TestTransportWithoutBody(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]io.ReadCloser{"nil": nil, "NoBody": http.NoBody} {
		for _, delay := range []time.Duration{0, time.Hour} {
			req, _ := transportPost(t, t.Context(), "http://api.example/")
			req.Body = body
			tr := transportOver(t, &transportStore{delay: delay}, weir.TransportConfig{Base: transportOK, Refuse: true})
			if _, err := tr.RoundTrip(req); (err != nil) != (delay > 0) {
				t.Errorf("%s, delay %v: %v", name, delay, err)
			}
			if req.Body != body {
				t.Errorf("%s: the body was replaced", name)
			}
		}
	}
}

// transportSnapshot is a deep copy of a request's fields.
type transportSnapshot struct {
	shallow http.Request
	url     url.URL
	header  http.Header
	trailer http.Header
	coding  []string
}

func transportSnap(r *http.Request) transportSnapshot {
	s := transportSnapshot{*r, *r.URL, r.Header.Clone(), r.Trailer.Clone(), append([]string(nil), r.TransferEncoding...)}
	s.shallow.GetBody = nil // functions can't be compared
	return s
}

func TestTransportDoesNotModifyRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store *transportStore
		cfg   weir.TransportConfig
	}{
		"sent":          {&transportStore{}, weir.TransportConfig{}},
		"refused":       {&transportStore{delay: time.Hour}, weir.TransportConfig{MaxWait: time.Second}},
		"refused now":   {&transportStore{delay: time.Hour}, weir.TransportConfig{Refuse: true}},
		"key error":     {&transportStore{}, weir.TransportConfig{Key: weir.KeyHeader("X-Other")}},
		"store failure": {&transportStore{err: errors.New("down")}, weir.TransportConfig{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, _ := transportPost(t, t.Context(), "HTTP://ann:secret@API.example:80/v1?q=1#f")
			req.Header.Set("X-User", "ann")
			req.Trailer = http.Header{"X-Sum": nil}
			req.TransferEncoding = []string{"chunked"}
			req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("not now") }
			req.ContentLength = 5
			before, ctx, getBody := transportSnap(req), req.Context(), reflect.ValueOf(req.GetBody).Pointer()
			c.cfg.Base = transportFunc(func(got *http.Request) (*http.Response, error) {
				if got != req {
					t.Error("the base got another request")
				}
				return transportOK(got)
			})
			_, _ = transportOver(t, c.store, c.cfg).RoundTrip(req)
			// The body's own count of closes is behind a pointer, so it is compared by identity.
			after := transportSnap(req)
			if before.shallow.Body != after.shallow.Body || req.Context() != ctx || reflect.ValueOf(req.GetBody).Pointer() != getBody {
				t.Error("body, context or GetBody were replaced")
			}
			if before.shallow.URL != after.shallow.URL || !reflect.DeepEqual(before, after) {
				t.Errorf("before: %+v\nafter:  %+v", before, after)
			}
		})
	}
}

func TestTransportChargesRedirects(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	source := httptest.NewServer(http.RedirectHandler(target.URL+"/there", http.StatusTemporaryRedirect))
	t.Cleanup(source.Close)
	store := &transportStore{}
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	client := &http.Client{Transport: transportOver(t, store, weir.TransportConfig{Base: network})}
	resp, err := client.Post(source.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got, want := store.keys(), []string{source.URL, target.URL}; !reflect.DeepEqual(got, want) {
		t.Errorf("charged %q, want %q", got, want)
	}
}

func TestTransportPassesProtocolSwitch(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}))
	t.Cleanup(srv.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transportOver(t, &transportStore{}, weir.TransportConfig{Base: network})}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("status %d, body %T", resp.StatusCode, resp.Body)
	}
	if _, err := io.WriteString(rw, "ping\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(rw).ReadString('\n'); line != "ping\n" {
		t.Errorf("echoed %q, %v", line, err)
	}
}

func TestTransportBaseOutOfContract(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	body := &transportBody{Reader: strings.NewReader("")}
	for _, c := range []struct {
		name string
		resp *http.Response
		err  error
		want string
	}{
		{"both", &http.Response{Body: body}, boom, "boom"},
		{"both, without body", &http.Response{}, boom, "boom"},
		{"neither", nil, nil, "the base weir_test.transportFunc returned neither"},
	} {
		tr := transportOver(t, &transportStore{}, weir.TransportConfig{
			Base: transportFunc(func(*http.Request) (*http.Response, error) { return c.resp, c.err }),
		})
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		resp, err := tr.RoundTrip(req)
		if resp != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: response %v, error %v", c.name, resp, err)
		}
	}
	if body.closed.Load() != 1 {
		t.Errorf("the response's body was closed %d times", body.closed.Load())
	}
}

// transportIdle is a base that counts CloseIdleConnections.
type transportIdle struct {
	transportFunc
	closed int
}

func (b *transportIdle) CloseIdleConnections() { b.closed++ }

func TestTransportForwardsCloseIdleConnections(t *testing.T) {
	t.Parallel()
	base := &transportIdle{transportFunc: transportOK}
	inner := transportOver(t, &transportStore{}, weir.TransportConfig{Base: base})
	client := &http.Client{Transport: transportOver(t, &transportStore{}, weir.TransportConfig{Base: inner})}
	client.CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("closed %d times", base.closed)
	}
	transportOver(t, &transportStore{}, weir.TransportConfig{Base: transportOK}).CloseIdleConnections()
	new(weir.Transport).CloseIdleConnections()
}

// TestTransportNilBase is not parallel: it replaces http.DefaultTransport.
func TestTransportNilBase(t *testing.T) {
	tr := transportOver(t, &transportStore{}, weir.TransportConfig{})
	defer func(old http.RoundTripper) { http.DefaultTransport = old }(http.DefaultTransport)
	base := &transportIdle{transportFunc: transportOK}
	http.DefaultTransport = base // after NewTransport

	req, _ := transportPost(t, t.Context(), "http://api.example/")
	if _, err := tr.RoundTrip(req); err != nil {
		t.Error(err)
	}
	tr.CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("closed %d times", base.closed)
	}
	for name, base := range map[string]http.RoundTripper{"itself": tr, "nil": nil} {
		http.DefaultTransport = base
		req, body := transportPost(t, t.Context(), "http://api.example/")
		if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrConfig) || body.closed.Load() != 1 {
			t.Errorf("the default is %s: %v, body closed %d times", name, err, body.closed.Load())
		}
		tr.CloseIdleConnections()
	}
}

func TestTransportZeroValue(t *testing.T) {
	t.Parallel()
	req, body := transportPost(t, t.Context(), "http://api.example/")
	if _, err := new(weir.Transport).RoundTrip(req); !errors.Is(err, weir.ErrConfig) || body.closed.Load() != 1 {
		t.Errorf("error %v, body closed %d times", err, body.closed.Load())
	}
}

func TestTransportConcurrentUse(t *testing.T) {
	t.Parallel()
	const callers, each = 16, 50
	store := &transportStore{}
	tr := transportOver(t, store, weir.TransportConfig{Base: transportOK, Key: weir.KeyJoin(weir.KeyHost(), weir.KeyHeader("X-User"))})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				req, body := transportPost(t, t.Context(), "http://api.example/")
				req.Header.Set("X-User", fmt.Sprint(i))
				if _, err := tr.RoundTrip(req); err != nil || body.closed.Load() != 1 {
					t.Errorf("%v, body closed %d times", err, body.closed.Load())
				}
				tr.CloseIdleConnections()
			}
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, key := range store.keys() {
		counts[key]++
	}
	for i := range callers {
		if key := fmt.Sprintf("http://api.example|%d", i); counts[key] != each {
			t.Errorf("%s was charged %d times", key, counts[key])
		}
	}
}

// transportFree allows everything and remembers nothing.
type transportFree struct{}

func (transportFree) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{Allowed: true}, nil
}

func BenchmarkTransport(b *testing.B) {
	resp := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
	base := transportFunc(func(*http.Request) (*http.Response, error) { return resp, nil })
	free := transportFree{}
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
	}{
		{"Base", base},
		{"Wait", transportOver(b, free, weir.TransportConfig{Base: base})},
		{"Refuse", transportOver(b, free, weir.TransportConfig{Base: base, Refuse: true})},
		{"WaitStaticKey", transportOver(b, free, weir.TransportConfig{Base: base, Key: weir.KeyStatic("api")})},
	} {
		b.Run(c.name, func(b *testing.B) {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "https://api.example/v1", nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.rt.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
