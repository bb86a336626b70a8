package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
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
	run    string // the name of this run's limiters
	store  *redisstore.Store
	client *redis.Client
	memory *miniredis.Miniredis // nil with a real Redis
}

// openStore starts the embedded Redis, or connects to the one at a URL, and
// makes sure that it decides.
func openStore(ctx context.Context, url string) (*sharedStore, error) {
	redis.SetLogger(silent{}) // what it says is in the errors
	// Runs on one Redis don't meet each other's keys.
	s := &sharedStore{url: url, run: "fleet-" + rand.Text()[:8]}
	if url == "" {
		s.memory = miniredis.NewMiniRedis()
		if err := s.memory.Start(); err != nil {
			return nil, fmt.Errorf("the embedded redis: %w", err)
		}
		s.memory.ClockTTL(true) // keys expire as time goes by, as in a real Redis
		s.url = "redis://" + s.memory.Addr()
	}
	var err error
	if s.store, s.client, err = connect(s.url); err != nil {
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
	l, err := newLimiter(s.store, s.run)
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

// connect returns a store over the Redis at a URL, and its client. It does no
// I/O.
func connect(at string) (*redisstore.Store, *redis.Client, error) {
	o, err := redis.ParseURL(at)
	var bad *url.Error
	if errors.As(err, &bad) {
		err = bad.Err // without the URL, which may hold a password
	}
	if err != nil {
		return nil, nil, err
	}
	o.ContextTimeoutEnabled = true // or a deadline does not reach the socket
	client := redis.NewClient(o)
	store, err := redisstore.New(redisstore.Config{Client: client})
	return store, client, err
}

// newLimiter returns the limiter of every process: of the limits that the fleet
// knows of.
func newLimiter(store weir.Store, name string) (*weir.Limiter, error) {
	return weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{ours}})
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
