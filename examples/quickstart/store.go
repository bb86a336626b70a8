package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/redisstore"
)

// sharedStore is the Redis that all processes share, and a store over it.
type sharedStore struct {
	url    string
	what   string // for people, without a password
	run    string // starts the names of this run's limiters
	store  *redisstore.Store
	client *redis.Client
	calls  *callCounter
	memory *miniredis.Miniredis // nil with a real Redis
}

// openStore starts the embedded Redis, or connects to the one at a URL, and
// makes sure that it decides.
func openStore(ctx context.Context, url string) (*sharedStore, error) {
	redis.SetLogger(silent{}) // what it says is in the errors
	// Runs on one Redis don't meet each other's keys.
	s := &sharedStore{url: url, run: "quickstart-" + rand.Text()[:8]}
	if url == "" {
		s.memory = miniredis.NewMiniRedis()
		if err := s.memory.Start(); err != nil {
			return nil, fmt.Errorf("the embedded redis: %w", err)
		}
		s.memory.ClockTTL(true) // keys expire as time goes by, as in a real Redis
		s.url = "redis://" + s.memory.Addr()
	}
	var err error
	if s.store, s.client, s.calls, err = connect(s.url); err != nil {
		s.close()
		return nil, fmt.Errorf("-redis: %w", err)
	}
	s.what = "redis at " + s.client.Options().Addr
	if s.memory != nil {
		s.what = "a redis embedded in this process, at " + s.memory.Addr()
	}
	if err := s.check(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("-redis: %s makes no decisions: %w", s.what, err)
	}
	return s, nil
}

// check asks for a decision, which shows more than a PING: that this Redis is
// there, lets us in and runs the script. It also makes the script known before
// all workers ask for it at once.
func (s *sharedStore) check(ctx context.Context) error {
	l, err := weir.New(weir.Config{Name: s.run, Store: s.store, Limits: limits(0)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err = l.Peek(ctx, "check")
	var failed *weir.StoreError
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		return network
	case errors.As(err, &failed):
		return failed.Err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer within 3s")
	}
	return err
}

func (s *sharedStore) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.memory != nil {
		s.memory.Close()
	}
}

// connect returns a store over the Redis at a URL, its client, and a counter of
// the commands that it sends. It does no I/O.
func connect(at string) (*redisstore.Store, *redis.Client, *callCounter, error) {
	o, err := redis.ParseURL(at)
	var bad *url.Error
	if errors.As(err, &bad) {
		err = bad.Err // without the URL, which may hold a password
	}
	if err != nil {
		return nil, nil, nil, err
	}
	o.ContextTimeoutEnabled = true // or a deadline does not reach the socket
	client, calls := redis.NewClient(o), new(callCounter)
	client.AddHook(calls)
	store, err := redisstore.New(redisstore.Config{Client: client})
	return store, client, calls, err
}

// callCounter is a go-redis hook that counts commands. Greetings of new
// connections are none.
type callCounter struct{ n atomic.Int64 }

func (c *callCounter) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		switch cmd.Name() {
		case "hello", "auth", "client", "select":
		default:
			c.n.Add(1)
		}
	}
}

func (c *callCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *callCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c *callCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds...)
		return next(ctx, cmds)
	}
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
