package redisstore

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echo"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/middleware"
)

// TestHTTP runs on a real server what every mount of the middleware must do.
// The store goes by the clock of the case's bubble, in which time stands still
// while the network is waited for.
func TestHTTP(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := bubbleClient(server)
	gin.SetMode(gin.TestMode)
	for name, mount := range map[string]httpcases.Mount{"net/http": mountHTTP, "gin": mountGin, "echo": mountEcho} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cases atomic.Int64
			httpcases.RunOn(t, mount, func(t testing.TB) weir.Store {
				return inBubble(t, client, fmt.Sprint(name, cases.Add(1), ":"))
			})
		})
	}
}

// bubbleClient returns a client that bubbles can share: one that is never waited
// for, as go-redis hands the timers of those who wait from one to the next.
func bubbleClient(server *redistest.Server) *redis.Client {
	return server.Client(func(o *redis.Options) { o.PoolSize = 1000 })
}

// inBubble returns a store by the clock of package time, as it is for the
// caller of the store.
func inBubble(t testing.TB, client redis.UniversalClient, prefix string) *Store {
	t.Helper()
	s, err := New(Config{Client: client, Prefix: prefix, now: func() int64 { return time.Now().UnixMicro() }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mountHTTP(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := middleware.New(cfg)
	if err != nil {
		return nil, err
	}
	return limit(h), nil
}

func mountGin(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := weirgin.New(cfg)
	if err != nil {
		return nil, err
	}
	e := gin.New()
	e.Use(limit)
	e.Any("/*path", gin.WrapH(h))
	return e, nil
}

func mountEcho(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := weirecho.New(cfg)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(limit)
	e.Any("/*", echo.WrapHandler(h))
	return e, nil
}
