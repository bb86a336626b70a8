package weirecho_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echov5"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func mount(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := weirecho.New(cfg)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(limit)
	e.Any("/*", echo.WrapHandler(h))
	return e, nil
}

func TestEcho(t *testing.T) {
	t.Parallel()
	httpcases.Run(t, mount)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if m, err := weirecho.New(middleware.Config{}); m != nil || err == nil {
		t.Errorf("New returned %t, %v", m != nil, err)
	}
}

func mustNew(t testing.TB, cfg middleware.Config) echo.MiddlewareFunc {
	t.Helper()
	limit, err := weirecho.New(cfg)
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
	ran, status := 0, 0
	e := echo.New()
	e.HTTPErrorHandler = func(_ *echo.Context, err error) { t.Errorf("error handler: %v", err) }
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			err := next(c)
			_, status = echo.ResolveResponseStatus(c.Response(), err)
			return err
		}
	}, limit, limit)
	e.GET("/things/:id", func(c *echo.Context) error {
		ran++
		return c.JSON(http.StatusCreated, map[string]string{"id": c.Param("id")})
	})

	w := get(e, "/things/7")
	if w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != `{"id":"7"}` || w.Header().Get("RateLimit") == "" {
		t.Errorf("served: %d %s %v", w.Code, w.Body, w.Header())
	}
	if n := store.Takes.Load(); n != 1 {
		t.Errorf("served: %d decisions", n)
	}
	if w := get(e, "/things/8"); w.Code != http.StatusTooManyRequests || status != w.Code || ran != 1 {
		t.Errorf("refused: %d, logged %d, handler ran %d times: %s", w.Code, status, ran, w.Body)
	}
}

// TestHandlerError checks that a handler's error still reaches echo, behind
// the rate headers.
func TestHandlerError(t *testing.T) {
	t.Parallel()
	e := echo.New()
	e.Use(mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)), Key: weir.KeyHeader("X-User"),
	}))
	var got error
	e.HTTPErrorHandler = func(c *echo.Context, err error) { got = err; _ = c.NoContent(http.StatusTeapot) }
	want := errors.New("handler failed")
	e.GET("/", func(*echo.Context) error { return want })
	w := get(e, "/")
	if !errors.Is(got, want) || w.Code != http.StatusTeapot || w.Header().Get("RateLimit") == "" {
		t.Errorf("got %v, %d, %v", got, w.Code, w.Header())
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
	e := echo.New()
	e.Use(limit)
	e.GET("/things/:id", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	own := echo.NewWithConfig(echo.Config{Router: ownRouter{echo.NewRouter(echo.RouterConfig{})}})
	own.Use(limit)
	own.GET("/things/:id", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	mux := http.NewServeMux()
	mux.Handle("/things/", e)
	mux.Handle("/other/", e)
	tests := []struct {
		name, path string
		handler    http.Handler
		want       string
	}{
		{"echo's route", "/things/7", e, "GET /things/:id"},
		{"echo's route, behind a mux", "/things/7", mux, "GET /things/:id"},
		{"no route, behind a mux", "/other/7", mux, "GET /other/"},
		{"no route", "/other/7", e, ""},
		{"another router", "/things/7", own, "GET /things/:id"},
	}
	for _, tt := range tests {
		seen = ""
		if get(tt.handler, tt.path); seen != tt.want {
			t.Errorf("%s: key %q, want %q", tt.name, seen, tt.want)
		}
	}
}

// ownRouter is a router that leaves the request alone.
type ownRouter struct{ echo.Router }

func (r ownRouter) Route(c *echo.Context) echo.HandlerFunc {
	h := r.Router.Route(c)
	c.Request().Pattern = ""
	return h
}

// TestSettledErrors checks that a handler's error is settled with the answer of echo's
// error handler. That runs once, and outer middlewares still see the error.
func TestSettledErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want middleware.Outcome
	}{
		{"an HTTP error", echo.NewHTTPError(http.StatusConflict, "no"), middleware.Outcome{Status: 409, Bytes: 17, Cost: 1}},
		{"any error", errors.New("secret"), middleware.Outcome{Status: 418, Bytes: 0, Cost: 1}},
		{"none", nil, middleware.Outcome{Status: 200, Bytes: 0, Cost: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var outcome middleware.Outcome
			limit, err := weirecho.New(middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"),
				Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return 0 },
			})
			if err != nil {
				t.Fatal(err)
			}
			e := echo.New()
			e.HTTPErrorHandler = func(c *echo.Context, err error) {
				resp, _ := echo.UnwrapResponse(c.Response())
				if !resp.Committed && echo.StatusCode(err) == 0 {
					_ = c.NoContent(http.StatusTeapot)
				}
				echo.DefaultHTTPErrorHandler(false)(c, err)
			}
			var seen error
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error {
					seen = next(c)
					return seen
				}
			}, limit)
			e.GET("/", func(*echo.Context) error { return tt.err })
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if outcome != tt.want || w.Code != tt.want.Status || seen != tt.err {
				t.Errorf("outcome %+v, want %+v; answered %d, %q; error %v", outcome, tt.want, w.Code, w.Body, seen)
			}
		})
	}
}

// TestSettledFlush checks that a status which a flush has sent is settled. A later error
// of the handler does not change that.
func TestSettledFlush(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var outcome middleware.Outcome
	e := echo.New()
	e.Use(mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, store, weir.PerHour(1)), Key: weir.KeyStatic("all"),
		Settle: func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return 0 },
	}))
	e.GET("/", func(c *echo.Context) error {
		if err := http.NewResponseController(c.Response()).Flush(); err != nil {
			return err
		}
		return errors.New("too late")
	})
	if w := get(e, "/"); w.Code != http.StatusOK || outcome.Status != w.Code {
		t.Errorf("answered %d, outcome %+v", w.Code, outcome)
	}
}

// TestSkippedErrorsAreEchos checks that the error of a request which is not settled goes
// to the middlewares further out.
func TestSkippedErrorsAreEchos(t *testing.T) {
	t.Parallel()
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			_ = next(c)
			return c.NoContent(http.StatusTeapot)
		}
	}, mustNew(t, middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.NewCounting().Store, weir.PerHour(1)), Key: weir.KeyHeader("X-User"),
		Skip: func(*http.Request) bool { return true }, Settle: middleware.OnlyFailures,
	}))
	e.GET("/", func(*echo.Context) error { return echo.NewHTTPError(http.StatusConflict, "no") })
	if w := get(e, "/"); w.Code != http.StatusTeapot {
		t.Errorf("status %d", w.Code)
	}
}
