package redisstore

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	weirecho "github.com/goweir/weir/adapters/echo"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
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
			httpcases.RunOn(t, mount, stores(client))
		})
	}
}

// bubbleClient returns a client that bubbles can share: one that is never waited
// for, as go-redis hands the timers of those who wait from one to the next.
func bubbleClient(server *redistest.Server) *redis.Client {
	return server.Client(func(o *redis.Options) { o.PoolSize = 1000 })
}

// storesOpened counts what stores opened.
var storesOpened atomic.Int64

// stores returns what opens empty stores by the clock of package time, as it is
// for the callers of the store.
func stores(client redis.UniversalClient) func(testing.TB) store.Store {
	return func(t testing.TB) store.Store {
		s, err := New(Config{
			Client: client, Prefix: fmt.Sprint("store", storesOpened.Add(1), ":"),
			now: func() int64 { return time.Now().UnixMicro() },
		})
		if err != nil {
			t.Fatal(err)
		}
		return deaf{s}
	}
}

// deaf is a Store for a bubble, in which a subscription would hold time up. It is told
// of no brake, and there is none to be told of but of its own process.
type deaf struct{ *Store }

func (deaf) WatchBrakes(func(scope, key string, at store.Instant)) store.Watch { return deaf{} }

func (deaf) Covers(time.Time) bool { return true }

func (deaf) Stop() {}

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

// TestPromises checks that what clients are told is true.
func TestPromises(t *testing.T) {
	t.Parallel()
	httpcases.Promises(t, stores(bubbleClient(redistest.Start(t))))
}

// TestAnswersAreIdentical checks that clients can't tell Redis from a local
// store.
func TestAnswersAreIdentical(t *testing.T) {
	t.Parallel()
	httpcases.Identical(t, stores(bubbleClient(redistest.Start(t))), func(t testing.TB) store.Store {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return local
	})
}
