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

// TestHTTP runs on a real server what the middleware must do. The store goes by the clock
// of the case's bubble, in which time stands still while the network is waited for.
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

// TestPromises checks that what clients are told is true.
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

// bubbleClient returns a client that bubbles can share: its pool is never waited for, as
// go-redis hands timers from one waiter to the next.
func bubbleClient(server *redistest.Server) *redis.Client {
	return server.Client(func(o *redis.Options) { o.PoolSize = 1000 })
}

var storesOpened atomic.Int64

// stores returns what opens empty stores by the clock of package time.
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

// deaf is a Store for a bubble, in which a subscription would hold time up. There are no
// brakes of other processes.
type deaf struct{ *Store }

func (deaf) WatchBrakes(func(scope, key string, c store.Clock)) store.Watch { return deaf{} }

func (deaf) Covers(time.Time) bool { return true }

func (deaf) Stop() {}
