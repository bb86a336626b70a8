package middleware_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

type (
	plain     struct{ http.ResponseWriter }
	canFlush  struct{ flushed *int }
	canHijack struct{}
	canRead   struct{ to io.Writer }
	canPush   struct{}
)

var errAbility = errors.New("passed on")

func (c canFlush) Flush()                                      { *c.flushed++ }
func (c canFlush) FlushError() error                           { *c.flushed++; return errAbility }
func (p plain) Unwrap() http.ResponseWriter                    { return p.ResponseWriter }
func (canHijack) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errAbility }
func (c canRead) ReadFrom(r io.Reader) (int64, error)          { return io.Copy(c.to, r) }
func (canPush) Push(string, *http.PushOptions) error           { return errAbility }

// TestAbilities checks which optional methods a watched handler finds, and that they call
// those of the inner ResponseWriter. A writer that can't flush offers the others to
// http.ResponseController alone.
func TestAbilities(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	flushed := 0
	p, f, h, r, u := plain{w}, canFlush{&flushed}, canHijack{}, canRead{w}, canPush{}
	for _, tt := range []struct {
		name  string
		inner http.ResponseWriter
		want  string
	}{
		{"nothing", p, ""},
		{"httptest's", struct {
			plain
			canFlush
		}{p, f}, "F"},
		{"HTTP/1", struct {
			plain
			canFlush
			canHijack
			canRead
		}{p, f, h, r}, "FH"},
		{"HTTP/2", struct {
			plain
			canFlush
			canPush
		}{p, f, u}, "FP"},
		{"a framework's", struct {
			plain
			canFlush
			canHijack
			canPush
		}{p, f, h, u}, "FHP"},
		{"all but flush", struct {
			plain
			canHijack
			canRead
			canPush
		}{p, h, r, u}, ""},
	} {
		got := ""
		outcome := settled(t, tt.inner, func(w http.ResponseWriter, _ *http.Request) {
			c := http.NewResponseController(w)
			if f, ok := w.(http.Flusher); ok {
				got += "F"
				before := flushed
				f.Flush()
				if err := c.Flush(); flushed != before+2 || !errors.Is(err, errAbility) {
					t.Errorf("%s: flushed %d times, %v", tt.name, flushed-before, err)
				}
			}
			if h, ok := w.(http.Hijacker); ok {
				got += "H"
				if _, _, err := h.Hijack(); !errors.Is(err, errAbility) {
					t.Errorf("%s: hijack: %v", tt.name, err)
				}
			}
			if _, canHijack := tt.inner.(http.Hijacker); canHijack {
				if _, _, err := c.Hijack(); !errors.Is(err, errAbility) {
					t.Errorf("%s: hijack by a controller: %v", tt.name, err)
				}
			}
			if p, ok := w.(http.Pusher); ok {
				got += "P"
				if err := p.Push("/", nil); !errors.Is(err, errAbility) {
					t.Errorf("%s: push: %v", tt.name, err)
				}
			}
			if n, err := io.Copy(w, iotest.OneByteReader(strings.NewReader("12345"))); n != 5 || err != nil {
				t.Errorf("%s: copied %d, %v", tt.name, n, err)
			}
		})
		if got != tt.want || outcome.Bytes != 5 || outcome.Status != http.StatusOK {
			t.Errorf("%s: found %q, want %q; outcome %+v", tt.name, got, tt.want, outcome)
		}
	}
}

// settled serves one request with a watched handler.
func settled(t *testing.T, w http.ResponseWriter, h http.HandlerFunc) middleware.Outcome {
	t.Helper()
	var outcome middleware.Outcome
	limit, err := middleware.New(middleware.Config{
		Limiter: named(t, "api"), Key: weir.KeyStatic("all"),
		Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost },
	})
	if err != nil {
		t.Fatal(err)
	}
	limit(h).ServeHTTP(w, request(t.Context()))
	return outcome
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		handler http.HandlerFunc
		status  int
		bytes   int64
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, 200, 0},
		{"a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 404, 0},
		{"the first status counts", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) }, 201, 0},
		{"a body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) }, 200, 4},
		{"a string", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }, 200, 4},
		{"a body has a status", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(500) }, 200, 0},
		{"early hints are not the answer", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(500) }, 500, 0},
		{"switched protocols", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(101) }, 101, 0},
		{"flushing where that can't be", func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("flushed: %v", err)
			}
			w.WriteHeader(404)
		}, 404, 0},
		{"a writer inside", func(w http.ResponseWriter, _ *http.Request) {
			u, ok := w.(interface{ Unwrap() http.ResponseWriter })
			if !ok || u.Unwrap() == nil {
				t.Error("can't be unwrapped")
			}
		}, 200, 0},
	}
	for _, tt := range tests {
		want := middleware.Outcome{Status: tt.status, Bytes: tt.bytes, Cost: 1}
		if got := settled(t, discard{}, tt.handler); got != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

// TestEmptyCopy checks that a copy from an empty reader sends nothing, as on the
// server: a later status is the response's.
func TestEmptyCopy(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]io.Reader{
		"empty":  io.LimitReader(strings.NewReader(""), 1),
		"broken": iotest.ErrReader(errAbility),
	} {
		var outcome middleware.Outcome
		limit, err := middleware.New(middleware.Config{
			Limiter: named(t, "api"), Key: weir.KeyStatic("all"),
			Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost },
		})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n, _ := io.Copy(w, from); n == 0 {
				w.WriteHeader(http.StatusBadGateway)
			}
		})))
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		srv.Close() // The handler has ended then.
		if resp.StatusCode != http.StatusBadGateway || outcome.Status != resp.StatusCode {
			t.Errorf("%s: answered %d, outcome %+v", name, resp.StatusCode, outcome)
		}
	}
}

// panicking is a reader that panics when it has nothing left.
type panicking struct{ from io.Reader }

func (p panicking) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if n == 0 && err != nil {
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// TestPanickingCopy checks that bytes count which were sent before a copy panicked.
func TestPanickingCopy(t *testing.T) {
	t.Parallel()
	read := func(n int) io.Reader { return panicking{strings.NewReader(strings.Repeat("x", n))} }
	for name, tt := range map[string]struct {
		from io.Reader
		want middleware.Outcome
	}{
		"at once":                {read(0), middleware.Outcome{Status: 500, Cost: 1}},
		"later":                  {read(100_000), middleware.Outcome{Status: 201, Bytes: 100_000, Cost: 1}},
		"of a part":              {io.LimitReader(read(100_000), 200_000), middleware.Outcome{Status: 201, Bytes: 100_000, Cost: 1}},
		"not, as it needs a few": {io.LimitReader(read(100_000), 1000), middleware.Outcome{Status: 201, Bytes: 1000, Cost: 1}},
	} {
		var outcome middleware.Outcome
		limit, err := middleware.New(middleware.Config{
			Limiter: named(t, "api"), Key: weir.KeyStatic("all"),
			Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost },
		})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.Copy(w, tt.from)
		})))
		if resp, err := srv.Client().Get(srv.URL); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		srv.Close() // The handler has ended then.
		if outcome != tt.want {
			t.Errorf("%s: outcome %+v, want %+v", name, outcome, tt.want)
		}
	}
}

// TestFlushedOutcome checks that a flush sends 200, and that no later status changes it,
// for every way to flush.
func TestFlushedOutcome(t *testing.T) {
	t.Parallel()
	asserted := func(w http.ResponseWriter) error { w.(http.Flusher).Flush(); return nil }
	controlled := func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() }
	for name, tt := range map[string]struct {
		w     http.ResponseWriter
		flush func(http.ResponseWriter) error
	}{
		"asserted":               {httptest.NewRecorder(), asserted},
		"controlled":             {httptest.NewRecorder(), controlled},
		"controlled, further in": {plain{httptest.NewRecorder()}, controlled},
	} {
		got := settled(t, tt.w, func(w http.ResponseWriter, _ *http.Request) {
			if err := tt.flush(w); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w.WriteHeader(http.StatusInternalServerError)
		})
		if want := (middleware.Outcome{Status: 200, Cost: 1}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// discard is a ResponseWriter that takes everything.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// TestHijackedOutcome checks that a handler which hijacks the connection and panics is no
// 500: the status went out, or was the handler's to send.
func TestHijackedOutcome(t *testing.T) {
	t.Parallel()
	type hijack func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error)
	writers := func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() }
	controllers := func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
		return http.NewResponseController(w).Hijack()
	}
	for name, tt := range map[string]struct {
		hijack       hijack
		status, want int
	}{
		"the writer's Hijack":   {writers, 0, http.StatusOK},
		"a controller's Hijack": {controllers, 0, http.StatusOK},
		"a status before":       {writers, http.StatusSwitchingProtocols, http.StatusSwitchingProtocols},
		"no Hijack":             {nil, http.StatusSwitchingProtocols, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcomes := make(chan middleware.Outcome, 1)
			limit, err := middleware.New(middleware.Config{
				Limiter: named(t, "api"), Key: weir.KeyStatic("all"),
				Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcomes <- o; return o.Cost },
			})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.status > 0 {
					w.WriteHeader(tt.status)
				}
				if tt.hijack != nil {
					conn, _, err := tt.hijack(w)
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
				}
				panic(http.ErrAbortHandler)
			})))
			t.Cleanup(srv.Close)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := srv.Client().Do(r); err == nil { // The connection breaks off.
				_ = resp.Body.Close()
			}
			if got := <-outcomes; got.Status != tt.want {
				t.Errorf("status %d, want %d", got.Status, tt.want)
			}
		})
	}
}
