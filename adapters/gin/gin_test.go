package weirgin_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	leaktest.Main(m)
}

func mount(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := weirgin.New(cfg)
	if err != nil {
		return nil, err
	}
	e := gin.New()
	e.Use(limit)
	e.Any("/*path", gin.WrapH(h))
	return e, nil
}

func TestGin(t *testing.T) {
	t.Parallel()
	httpcases.Run(t, mount)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if h, err := weirgin.New(middleware.Config{}); h != nil || err == nil {
		t.Errorf("New returned %t, %v", h != nil, err)
	}
}

func mustNew(t testing.TB, cfg middleware.Config) gin.HandlerFunc {
	t.Helper()
	limit, err := weirgin.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Header.Set("X-User", "ann")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestNativeHandlers(t *testing.T) {
	t.Parallel()
	store := httpcases.NewCounting()
	cfg := middleware.Config{Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyHeader("X-User")}
	limit := mustNew(t, cfg)
	var ran []string
	var aborted bool
	e := gin.New()
	e.Use(func(c *gin.Context) {
		ran = append(ran, "before")
		c.Next()
		aborted = c.IsAborted()
		ran = append(ran, http.StatusText(c.Writer.Status()))
	}, limit, limit, func(*gin.Context) { ran = append(ran, "after") })
	e.GET("/things/:id", func(c *gin.Context) { c.JSON(http.StatusCreated, gin.H{"id": c.Param("id")}) })

	w := get(e, "/things/7")
	if w.Code != http.StatusCreated || w.Body.String() != `{"id":"7"}` || w.Header().Get("RateLimit") == "" {
		t.Errorf("served: %d %s %v", w.Code, w.Body, w.Header())
	}
	if n := store.Takes.Load(); n != 1 || aborted || len(ran) != 3 {
		t.Errorf("served: %d decisions, aborted %t, ran %q", n, aborted, ran)
	}
	ran = nil
	if w := get(e, "/things/8"); w.Code != http.StatusTooManyRequests {
		t.Errorf("refused: %d %s", w.Code, w.Body)
	}
	if !aborted || len(ran) != 2 || ran[1] != http.StatusText(http.StatusTooManyRequests) {
		t.Errorf("refused: aborted %t, ran %q", aborted, ran)
	}
}

// TestHandleContext checks that a request which a handler hands on to another route counts
// once, for the first route.
func TestHandleContext(t *testing.T) {
	t.Parallel()
	l := httpcases.NewLimiter(t, httpcases.NewCounting(), weir.PerHour(5))
	e := gin.New()
	e.Use(mustNew(t, middleware.Config{Limiter: l, Key: weir.KeyRoute()}))
	e.GET("/old/:id", func(c *gin.Context) {
		c.Request.URL.Path = "/new"
		e.HandleContext(c)
	})
	e.GET("/new", func(c *gin.Context) { c.String(http.StatusOK, c.FullPath()) })
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/old/7", http.NoBody))
	if w.Body.String() != "/new" {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	for route, want := range map[string]int64{"GET /old/:id": 4, "GET /new": 5} {
		if d, err := l.Peek(t.Context(), route); d.Remaining != want || err != nil {
			t.Errorf("%s: %d left, %v; want %d", route, d.Remaining, err, want)
		}
	}
}

// TestSettledHandleContext: the answer of the other route is settled. Gin takes all writers of
// middlewares off on the way.
func TestSettledHandleContext(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 5000} {
		for _, panics := range []bool{false, true} {
			var got middleware.Outcome
			e := gin.New()
			e.Use(mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, httpcases.NewCounting().Store, weir.PerHour(5)), Key: weir.KeyStatic("all"),
				Settle: func(_ *http.Request, o middleware.Outcome) int64 { got = o; return 1 },
			}))
			e.GET("/old", func(c *gin.Context) {
				c.Request.URL.Path = "/new"
				e.HandleContext(c)
			})
			e.GET("/new", func(c *gin.Context) {
				c.String(http.StatusCreated, strings.Repeat("x", size))
				if panics {
					panic(http.ErrAbortHandler)
				}
			})
			func() {
				defer func() { _ = recover() }()
				e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/old", http.NoBody))
			}()
			want := middleware.Outcome{Status: http.StatusCreated, Bytes: int64(size), Cost: 1}
			if panics && size <= 2048 {
				want.Status = http.StatusInternalServerError
			}
			if got != want {
				t.Errorf("%d bytes, panics %v: outcome %+v, want %+v", size, panics, got, want)
			}
		}
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	var seen string
	limit := mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)),
		Key: func(r *http.Request) (string, error) {
			key, err := weir.KeyRoute()(r)
			seen = key
			return key, err
		},
		OnNoKey: func(*http.Request, error) middleware.NoKey { return middleware.NoKey{Pass: true} },
	})
	e := gin.New()
	e.Use(limit)
	e.GET("/things/:id", func(c *gin.Context) { c.String(http.StatusOK, c.Request.Pattern) })
	e.Group("/v1/:tenant").GET("/users/:id", func(*gin.Context) {})
	e.POST("/things", func(*gin.Context) {})
	mux := http.NewServeMux()
	mux.Handle("/things/", e)
	tests := []struct {
		name, path string
		handler    http.Handler
		want       string
	}{
		{"gin's route", "/things/7", e, "GET /things/:id"},
		{"a group's route is whole", "/v1/acme/users/7", e, "GET /v1/:tenant/users/:id"},
		{"the route of a mux in front", "/things/7", mux, "GET /things/"},
		{"a route of another method", "/things", e, ""},
		{"no route", "/nothing", e, ""},
	}
	for _, tt := range tests {
		seen = ""
		if get(tt.handler, tt.path); seen != tt.want {
			t.Errorf("%s: key %q, want %q", tt.name, seen, tt.want)
		}
	}
}

// TestSettledErrors checks how requests are settled whose handler leaves an error to a
// middleware further out. An answer of the handler itself counts. Without one the request
// is settled as a failure.
func TestSettledErrors(t *testing.T) {
	t.Parallel()
	failed := errors.New("wrong password")
	tests := []struct {
		name    string
		handler gin.HandlerFunc
		want    int // the status that is settled
	}{
		{"an error", func(c *gin.Context) { _ = c.Error(failed) }, 500},
		{"an error, and a status that is good", func(c *gin.Context) { c.Status(http.StatusCreated); _ = c.Error(failed) }, 500},
		{"an error and its status", func(c *gin.Context) { c.Status(http.StatusConflict); _ = c.Error(failed) }, 409},
		{"an error that is answered", func(c *gin.Context) { _ = c.AbortWithError(http.StatusForbidden, failed) }, 403},
		{"an error besides", func(c *gin.Context) { _ = c.Error(failed); c.String(http.StatusOK, "served") }, 200},
		{"none", func(c *gin.Context) { c.Status(http.StatusNoContent) }, 204},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var outcome middleware.Outcome
			e := gin.New()
			e.Use(func(c *gin.Context) {
				c.Next()
				if len(c.Errors) > 0 && !c.Writer.Written() {
					c.Status(http.StatusUnauthorized)
				}
			}, mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyHeader("X-User"),
				Settle: func(r *http.Request, o middleware.Outcome) int64 { outcome = o; return middleware.OnlyFailures(r, o) },
			}))
			e.GET("/", tt.handler)
			get(e, "/")
			if outcome.Status != tt.want {
				t.Errorf("outcome %+v, want the status %d", outcome, tt.want)
			}
			next := http.StatusTooManyRequests
			if tt.want < 400 {
				next = tt.want
			}
			if w := get(e, "/"); w.Code != next {
				t.Errorf("the next is answered %d, want %d", w.Code, next)
			}
		})
	}
}

// compressed is the writer of a middleware that compresses. It embeds gin's writer, as
// such middlewares for gin do.
type compressed struct {
	gin.ResponseWriter
	to io.Writer
}

func (w compressed) Write(b []byte) (int, error)       { return w.to.Write(b) }
func (w compressed) WriteString(s string) (int, error) { return io.WriteString(w.to, s) }

// TestSettledCompressed checks that the handler's own bytes are settled, although a
// middleware further out changes them or holds them back.
func TestSettledCompressed(t *testing.T) {
	t.Parallel()
	gzipped := func(c *gin.Context) {
		to := gzip.NewWriter(c.Writer)
		defer to.Close()
		c.Writer = compressed{c.Writer, to}
		c.Next()
	}
	held := func(c *gin.Context) {
		to := bufio.NewWriter(c.Writer)
		defer to.Flush()
		c.Writer = compressed{c.Writer, to}
		c.Next()
	}
	failed := errors.New("not that bad")
	tests := []struct {
		name    string
		outside gin.HandlerFunc
		handler gin.HandlerFunc
		want    middleware.Outcome
	}{
		{"compressed", gzipped, func(c *gin.Context) { c.String(http.StatusOK, strings.Repeat("x", 5000)) }, middleware.Outcome{Status: 200, Bytes: 5000}},
		{"compressed, shorter than the compressed form", gzipped, func(c *gin.Context) { c.JSON(http.StatusForbidden, "no") }, middleware.Outcome{Status: 403, Bytes: 4}},
		{"compressed, in parts", gzipped, func(c *gin.Context) {
			_, _ = c.Writer.WriteString("one")
			_, _ = io.WriteString(c.Writer, "two")
			c.Writer.Flush()
		}, middleware.Outcome{Status: 200, Bytes: 6}},
		{"compressed, without a body", gzipped, func(c *gin.Context) { c.AbortWithStatus(http.StatusUnauthorized) }, middleware.Outcome{Status: 401}},
		{"held back", held, func(c *gin.Context) { c.String(http.StatusOK, "served") }, middleware.Outcome{Status: 200, Bytes: 6}},
		{"held back, with an error besides", held, func(c *gin.Context) { _ = c.Error(failed); c.String(http.StatusOK, "served") }, middleware.Outcome{Status: 200, Bytes: 6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var outcome middleware.Outcome
			e := gin.New()
			var was, is gin.ResponseWriter
			e.Use(tt.outside, func(c *gin.Context) { was = c.Writer; c.Next(); is = c.Writer }, mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyHeader("X-User"),
				Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost },
			}))
			e.GET("/", tt.handler)
			get(e, "/")
			if tt.want.Cost = 1; outcome != tt.want {
				t.Errorf("outcome %+v, want %+v", outcome, tt.want)
			}
			if is != was {
				t.Errorf("middlewares further out find the writer %T, want their %T", is, was)
			}
		})
	}
}

// TestStreamBehindNetHTTP checks that gin can stream behind a limiter that wraps the
// server's ResponseWriter. gin requires that the writer is an http.CloseNotifier.
func TestStreamBehindNetHTTP(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyHeader("X-User"), Settle: middleware.OnlyFailures,
	})
	if err != nil {
		t.Fatal(err)
	}
	e := gin.New()
	e.GET("/", func(c *gin.Context) {
		n := 0
		c.Stream(func(w io.Writer) bool {
			_, _ = io.WriteString(w, "chunk\n")
			n++
			return n < 3
		})
	})
	srv := httptest.NewServer(limit(e))
	t.Cleanup(srv.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "ann")
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); string(body) != "chunk\nchunk\nchunk\n" || err != nil {
		t.Errorf("read %q, %v", body, err)
	}
}

// TestHijackedOutcome checks that a handler which hijacks the connection and panics is no
// 500: the status was the handler's to send.
func TestHijackedOutcome(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan middleware.Outcome, 1)
	e := gin.New()
	e.Use(mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"),
		Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcomes <- o; return o.Cost },
	}))
	e.GET("/", func(c *gin.Context) {
		conn, _, err := c.Writer.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		panic(http.ErrAbortHandler)
	})
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := srv.Client().Do(r); err == nil { // The connection breaks off.
		_ = resp.Body.Close()
	}
	if got, want := <-outcomes, (middleware.Outcome{Status: http.StatusOK, Cost: 1}); got != want {
		t.Errorf("outcome %+v, want %+v", got, want)
	}
}
