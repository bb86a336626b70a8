package redisstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// lines has a combiner for each master of a cluster and each shard of a ring, so
// that calls share the wire with those of their own server alone: none waits for
// a server that its key is not on. What goes where is still the client's to say;
// a key that moves is in another line from then on.
type lines struct {
	first  *combiner // of all calls, where there is one server or none is known yet
	server func(ctx context.Context, key string) (*redis.Client, error)
	slots  bool        // the servers are masters of a cluster
	known  atomic.Bool // server answers by itself, without Redis
	others sync.Map    // *combiner by *redis.Client
	n      atomic.Int32
}

// mostLines is how many lines there are before those of servers that are gone are
// forgotten, with all others. Whoever is in one still gets an answer.
const mostLines = 1024

func (l *lines) of(s *Store) {
	l.first = newCombiner(s)
	switch c := s.client.(type) {
	case *redis.Client:
		l.first.packs.has = func(context.Context, string) bool { return true }
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	}:
		l.server, l.slots = c.MasterForKey, true
	case interface {
		GetShardClientForKey(key string) (*redis.Client, error)
	}:
		l.server = func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
		l.known.Store(true)
	}
}

// take decides one call.
func (l *lines) take(ctx context.Context, key string, lane int, t *terms) (answer, error) {
	if l.server == nil {
		return l.first.take(ctx, key, lane, t)
	}
	if l.known.Load() {
		return l.find(ctx, key).take(ctx, key, lane, t)
	}
	// Before its first answer a cluster's client would have to ask which masters
	// there are, which may take long.
	a, err := l.first.take(ctx, key, lane, t)
	if err == nil {
		l.known.Store(true)
	}
	return a, err
}

// start begins to decide one call. It returns nil while to find out where would
// take a call of a server.
func (l *lines) start(ctx context.Context, key string, lane int, t *terms) (*combiner, *waiting) {
	c := l.first
	if l.server != nil {
		if !l.known.Load() {
			return nil, nil
		}
		c = l.find(ctx, key)
	}
	return c, c.start(ctx, key, lane, t)
}

// find returns the line of a key.
func (l *lines) find(ctx context.Context, key string) *combiner {
	server, err := l.server(ctx, key)
	if err != nil {
		return l.first
	}
	if c, ok := l.others.Load(server); ok {
		return c.(*combiner)
	}
	if l.n.Add(1) > mostLines {
		l.others.Clear()
		l.n.Store(1)
	}
	c := newCombiner(l.first.store)
	if l.slots {
		c.packs.undeclared = true
		c.packs.has = func(ctx context.Context, key string) bool {
			has, err := l.server(ctx, key)
			return err == nil && has == server
		}
	}
	line, _ := l.others.LoadOrStore(server, c)
	return line.(*combiner)
}
