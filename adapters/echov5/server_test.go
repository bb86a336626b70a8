package weirecho_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v5"
	echomiddleware "github.com/labstack/echo/v5/middleware"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// modes are the two ways in which responses are handed on: as they came, and
// watched to be settled.
var modes = map[string]func(*http.Request, middleware.Outcome) int64{
	"as they came": nil,
	"settled":      func(_ *http.Request, o middleware.Outcome) int64 { return o.Cost },
}

func limited(t *testing.T, settle func(*http.Request, middleware.Outcome) int64) *echo.Echo {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.Use(mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"), Settle: settle,
	}))
	return e
}

// TestUpgrade checks that a WebSocket's connection can be taken over.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, settle := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := limited(t, settle)
			e.GET("/ws", func(c *echo.Context) error {
				if !c.IsWebSocket() {
					return echo.ErrBadRequest
				}
				conn, rw, err := http.NewResponseController(c.Response()).Hijack()
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close() }()
				_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
				_ = rw.Flush()
				line, err := rw.ReadString('\n')
				_, _ = rw.WriteString("echo " + line)
				_ = rw.Flush()
				return err
			})
			srv := httptest.NewServer(e)
			defer srv.Close()
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello\n")
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v, %v", resp, err)
			}
			if line, err := r.ReadString('\n'); line != "echo hello\n" {
				t.Errorf("read %q, %v", line, err)
			}
		})
	}
}

// TestHTTP2 checks a stream with a trailer over HTTP/2.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	for name, settle := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := limited(t, settle)
			seen := make(chan struct{})
			e.GET("/", func(c *echo.Context) error {
				c.Response().Header().Set("Trailer", "X-Sum")
				_, _ = io.WriteString(c.Response(), "one\n")
				if err := http.NewResponseController(c.Response()).Flush(); err != nil {
					t.Error(err)
				}
				<-seen
				_, err := io.WriteString(c.Response(), "two\n")
				c.Response().Header().Set("X-Sum", "42")
				return err
			})
			srv := httptest.NewUnstartedServer(e)
			srv.EnableHTTP2 = true
			srv.StartTLS()
			defer srv.Close()
			resp, err := srv.Client().Get(srv.URL)
			if err != nil {
				close(seen)
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body := bufio.NewReader(resp.Body)
			line, err := body.ReadString('\n')
			close(seen)
			if resp.ProtoMajor != 2 || line != "one\n" || err != nil {
				t.Errorf("%s, read %q, %v before the handler ended", resp.Proto, line, err)
			}
			if rest, err := io.ReadAll(body); string(rest) != "two\n" || err != nil || resp.Trailer.Get("X-Sum") != "42" {
				t.Errorf("read %q, %v, trailer %v", rest, err, resp.Trailer)
			}
			if resp.Header.Get("RateLimit") != `"1-in-1h";r=0;t=3600` {
				t.Errorf("headers: %v", resp.Header)
			}
		})
	}
}

// readerFrom is a ResponseWriter that can send a file by itself.
type readerFrom struct {
	*httptest.ResponseRecorder
	used bool
}

func (w *readerFrom) ReadFrom(src io.Reader) (int64, error) {
	w.used = true
	return io.Copy(w.ResponseRecorder, src)
}

// TestReaderFrom checks that unwrapping echo's writer finds the ReadFrom of the server's
// writer, which echo's hides.
func TestReaderFrom(t *testing.T) {
	t.Parallel()
	e := limited(t, nil)
	e.GET("/", func(c *echo.Context) error {
		resp, err := echo.UnwrapResponse(c.Response())
		if err != nil {
			return err
		}
		_, err = resp.Unwrap().(io.ReaderFrom).ReadFrom(strings.NewReader("body"))
		return err
	})
	w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if !w.used || w.Body.String() != "body" {
		t.Errorf("read from: %t, body %q", w.used, w.Body)
	}
}

// opaque is a ResponseWriter that hides the one inside.
type opaque struct{ http.ResponseWriter }

// TestSettledWriters checks that outcomes are right with any writer that other
// middlewares put in the place of echo's.
func TestSettledWriters(t *testing.T) {
	t.Parallel()
	hide := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.SetResponse(opaque{c.Response()})
			return next(c)
		}
	}
	gzip := echomiddleware.Gzip()
	short := echomiddleware.GzipWithConfig(echomiddleware.GzipConfig{MinLength: 1 << 10})
	plain := echo.WrapMiddleware(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(opaque{w}, r) })
	})
	tests := []struct {
		name   string
		around func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc
	}{
		{"one that hides it outside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{hide, limit} }},
		{"one that hides it inside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{limit, hide} }},
		{"one of net/http outside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{plain, limit} }},
		{"one that compresses outside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{gzip, limit} }},
		{"one that compresses nothing short outside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{short, limit} }},
		{"one of net/http inside", func(limit echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{limit, plain} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []string
			e := echo.New()
			e.Use(tt.around(mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"),
				Settle: func(_ *http.Request, o middleware.Outcome) int64 {
					outcomes = append(outcomes, fmt.Sprint(o.Status, " ", o.Bytes))
					return 0
				},
			}))...)
			e.GET("/", func(c *echo.Context) error { return c.String(http.StatusAccepted, "body") })
			e.GET("/gone", func(*echo.Context) error { return echo.NewHTTPError(http.StatusGone, "gone") })
			e.GET("/empty", func(c *echo.Context) error { return c.NoContent(http.StatusUnauthorized) })
			for path, want := range map[string]int{"/": 202, "/gone": 410, "/empty": 401} {
				r, w := httptest.NewRequest(http.MethodGet, path, http.NoBody), httptest.NewRecorder()
				r.Header.Set("Accept-Encoding", "gzip")
				if e.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%s: %d", path, w.Code)
				}
			}
			if all := strings.Join(outcomes, ", "); !strings.Contains(all, "202 4") || !strings.Contains(all, "410 19") || !strings.Contains(all, "401 0") {
				t.Errorf("outcomes: %s", all)
			}
		})
	}
}

// TestHEAD checks the HEAD that echo makes of a GET route.
func TestHEAD(t *testing.T) {
	t.Parallel()
	for name, settle := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			e := echo.NewWithConfig(echo.Config{Router: echo.NewRouter(echo.RouterConfig{AutoHandleHEAD: true})})
			e.Use(mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"), Settle: settle,
			}))
			e.GET("/", func(c *echo.Context) error { return c.String(http.StatusOK, "body") })
			for _, want := range []int{200, 429} {
				w := httptest.NewRecorder()
				e.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", http.NoBody))
				if w.Code != want || w.Body.Len() > 0 || w.Header().Get("RateLimit") == "" {
					t.Errorf("%d, want %d: %q %v", w.Code, want, w.Body, w.Header())
				}
			}
		})
	}
}
