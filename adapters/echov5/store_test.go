package weirecho_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echov5"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/labstack/echo/v5"
	echomiddleware "github.com/labstack/echo/v5/middleware"
)

var (
	_ echomiddleware.RateLimiterStore        = (*weirecho.RateLimiterStore)(nil)
	_ echomiddleware.RateLimiterStoreContext = (*weirecho.RateLimiterStore)(nil)
)

// failing is a store that is away.
type failing struct{}

func (failing) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{}, errors.New("away")
}

func limiterOn(t *testing.T, store weir.Store) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: "echo", Store: store, Limits: []weir.Limit{weir.PerHour(2)}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRateLimiterStore under echo's own middleware.
func TestRateLimiterStore(t *testing.T) {
	t.Parallel()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		store   weir.Store
		failure middleware.StoreFailure
		want    [3]int

		retryAfter [3]string
	}{
		"a limit of two":           {local, middleware.FailOpen, [3]int{200, 200, 429}, [3]string{2: "1800"}},
		"a store that is away":     {failing{}, middleware.FailOpen, [3]int{200, 200, 200}, [3]string{}},
		"the same, failing closed": {failing{}, middleware.FailClosed, [3]int{429, 429, 429}, [3]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := weirecho.NewRateLimiterStore(limiterOn(t, test.store), test.failure)
			if err != nil {
				t.Fatal(err)
			}
			e := echo.New()
			e.Use(echomiddleware.RateLimiter(store))
			e.GET("/", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
			for i, want := range test.want {
				w := httptest.NewRecorder()
				e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
				if w.Code != want {
					t.Errorf("request %d: %d, want %d", i, w.Code, want)
				}
				if got := w.Header().Get("Retry-After"); got != test.retryAfter[i] {
					t.Errorf("request %d: Retry-After %q, want %q", i, got, test.retryAfter[i])
				}
			}
		})
	}
}

func TestRateLimiterStoreMistakes(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() (*weirecho.RateLimiterStore, error){
		"no limiter":     func() (*weirecho.RateLimiterStore, error) { return weirecho.NewRateLimiterStore(nil, 0) },
		"a zero limiter": func() (*weirecho.RateLimiterStore, error) { return weirecho.NewRateLimiterStore(new(weir.Limiter), 0) },
		"another failure": func() (*weirecho.RateLimiterStore, error) {
			return weirecho.NewRateLimiterStore(limiterOn(t, failing{}), 9)
		},
	} {
		if _, err := make(); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := weirecho.NewRateLimiterStore(limiterOn(t, failing{}), middleware.FailOpen)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Allow(""); ok || !errors.Is(err, weir.ErrEmptyKey) {
		t.Errorf("nobody: %v, %v", ok, err)
	}
}

// TestRateLimiterStoreEnded checks that the end of a request is no failure of the
// store, which would let it pass.
func TestRateLimiterStoreEnded(t *testing.T) {
	t.Parallel()
	s, err := weirecho.NewRateLimiterStore(limiterOn(t, failing{}), middleware.FailOpen)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	c := echo.New().NewContext(r, httptest.NewRecorder())
	if ok, err := s.AllowContext(c, "ann"); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", ok, err)
	}
	if ok, err := s.AllowContext(echo.New().NewContext(r.WithContext(t.Context()), httptest.NewRecorder()), "ann"); !ok || err != nil {
		t.Errorf("not ended: %v, %v", ok, err)
	}
}
