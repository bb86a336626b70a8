package redisstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/redisclient"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/redis/go-redis/v9"
)

type queue = combine.Queue[keys.Key, call]

// queues has a queue for each master of a cluster and each shard of a ring, so that no call
// waits for a server without its key. A key that moves changes its queue.
type queues struct {
	config combine.Config[keys.Key, call]
	first  *queue // of all calls, if there is one server
	server func(ctx context.Context, name string) (*redis.Client, error)
	name   func(scope, key string) string
	others sync.Map // *queue by *redis.Client
	n      atomic.Int32
}

// maxRoundTrips is the largest Config.RoundTrips.
const maxRoundTrips = 256

// maxQueues is the number of queues at which all are dropped, also those of servers that are
// gone. Calls in them still get an answer.
const maxQueues = 1024

func (q *queues) open(s *server, roundTrips int) {
	q.config.Send, q.config.RoundTrips = s.decide, roundTrips
	q.config.Stays = func(c *call) bool { return c.cancelable } // Its answer has a receipt.
	options, _ := redisclient.OptionsOf(s.client)
	size := options.PoolSize()
	// On few connections, more round trips would wait for a connection, up to its timeout.
	q.config.MaxRoundTrips = min(max(size*3/4, min(size, combine.DefaultRoundTrips)), maxRoundTrips)
	q.first = combine.New(q.config)
	q.name, q.server = s.name, redisclient.ForKey(s.client)
}

// of returns the queue of a key.
func (q *queues) of(ctx context.Context, key keys.Key) *queue {
	if q.server == nil {
		return q.first
	}
	server, err := q.server(ctx, q.name(key.Scope, key.Key))
	if err != nil {
		return q.first
	}
	if c, ok := q.others.Load(server); ok {
		return c.(*queue)
	}
	if q.n.Add(1) > maxQueues {
		q.others.Clear()
		q.n.Store(1)
	}
	c, _ := q.others.LoadOrStore(server, combine.New(q.config))
	return c.(*queue)
}
