package redisstore

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/redis/go-redis/v9"
)

// TestHTTP runs the promises of the middleware on a real server. The store uses the clock of
// the case's bubble, which stands still during network calls.
func TestHTTP(t *testing.T) {
	t.Parallel()
	mount := func(cfg middleware.Config, h http.Handler) (http.Handler, error) {
		limit, err := middleware.New(cfg)
		if err != nil {
			return nil, err
		}
		return limit(h), nil
	}
	httpcases.RunOn(t, mount, stores(bubbleClient(redistest.Start(t))))
}

// TestPromises checks that headers and refusals tell clients the truth.
func TestPromises(t *testing.T) {
	t.Parallel()
	httpcases.Promises(t, stores(bubbleClient(redistest.Start(t))))
}

// TestAnswersAreIdentical checks that clients can't tell Redis from a local store.
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

// bubbleClient returns a client that bubbles can share. Its pool is never empty, as go-redis
// passes timers from one waiter to the next.
func bubbleClient(server *redistest.Server) *redis.Client {
	return server.Client(func(o *redis.Options) { o.PoolSize = 1000 })
}

var storesOpened atomic.Int64

// stores returns a function that opens empty stores with the clock of package time.
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

// deaf is a Store for a bubble without a subscription, which would stop the bubble's time. No
// other process sets brakes.
type deaf struct{ *Store }

func (deaf) WatchBrakes(func(scope, key string, c store.Clock)) store.Watch { return deaf{} }

func (deaf) Covers(time.Time) bool { return true }

func (deaf) Stop() {}
