package contender

import (
	"context"
	"net/http"
	"sync"
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
	xrate "golang.org/x/time/rate"

	weirecho "github.com/goweir/weir/adapters/echo"
	weirgin "github.com/goweir/weir/adapters/gin"
)

// Bases are handlers that do nothing, one per framework. Overheads are relative to them.
func Bases() map[Framework]http.Handler {
	return map[Framework]http.Handler{NetHTTP: Nothing, Gin: newGin(), Echo: newEcho()}
}

// Nothing is a handler that does nothing.
var Nothing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// WeirGin is weir's middleware in gin.
func WeirGin() Contender {
	return Contender{Name: "weir for gin", Own: true, Web: Web{Gin, func(_ Cleaner, l Limit, _ http.Handler) (http.Handler, error) {
		cfg, err := weirConfig(l)
		if err != nil {
			return nil, err
		}
		m, err := weirgin.New(cfg)
		return newGin(m), err
	}}}
}

// WeirEcho is weir's middleware in echo.
func WeirEcho() Contender {
	return Contender{Name: "weir for echo", Own: true, Web: Web{Echo, func(_ Cleaner, l Limit, _ http.Handler) (http.Handler, error) {
		cfg, err := weirConfig(l)
		if err != nil {
			return nil, err
		}
		m, err := weirecho.New(cfg)
		return newEcho(m), err
	}}}
}

var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

func newGin(m ...gin.HandlerFunc) http.Handler {
	releaseMode()
	e := gin.New()
	e.GET("/things/:id", append(m, func(*gin.Context) {})...)
	return e
}

func newEcho(m ...echo.MiddlewareFunc) http.Handler {
	e := echo.New()
	e.GET("/things/:id", func(echo.Context) error { return nil }, m...)
	return e
}

// EchoOwn is echo's own rate limiter: x/time/rate in a map behind a mutex.
func EchoOwn() Contender {
	newStore := func(l Limit) *echomiddleware.RateLimiterMemoryStore {
		return echomiddleware.NewRateLimiterMemoryStoreWithConfig(echomiddleware.RateLimiterMemoryStoreConfig{
			Rate: xrate.Every(l.Refill), Burst: int(l.Burst), ExpiresIn: time.Hour,
		})
	}
	return Contender{
		Name: "echo's own", Module: "github.com/labstack/echo/v4",
		Note: "echo's own rate limiter sets no headers.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			store := newStore(l)
			return func(_ context.Context, key string) (bool, error) { return store.Allow(key) }, nil
		},
		Web: Web{Echo, func(_ Cleaner, l Limit, _ http.Handler) (http.Handler, error) {
			return newEcho(echomiddleware.RateLimiterWithConfig(echomiddleware.RateLimiterConfig{
				Store:               newStore(l),
				IdentifierExtractor: func(c echo.Context) (string, error) { return c.Request().Header.Get(KeyHeader), nil },
			})), nil
		}},
	}
}

// GinRateLimit is gin-rate-limit: fixed windows, read and then written.
func GinRateLimit() Contender {
	return Contender{
		Name: "gin-rate-limit", Module: "github.com/JGLTechnologies/gin-rate-limit",
		Note: "gin-rate-limit sets headers on refusals only where the application does.",
		Web: Web{Gin, func(_ Cleaner, l Limit, _ http.Handler) (http.Handler, error) {
			store := ratelimit.InMemoryStore(&ratelimit.InMemoryOptions{Rate: l.Window, Limit: uint(l.Burst)})
			return newGin(ratelimit.RateLimiter(store, &ratelimit.Options{
				KeyFunc: func(c *gin.Context) string { return c.GetHeader(KeyHeader) },
			})), nil
		}},
	}
}
