// Package sharedredis is the Redis that the processes of an example share: one
// embedded in the program, so that nothing has to be installed, or a real one.
package sharedredis

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

// Redis is a Redis that is there, and a store over it.
type Redis struct {
	URL   string // for the other processes to connect to
	What  string // for people, without a password
	Run   string // for the names of this run's limiters: no other run has it
	Store *redisstore.Store

	client *redis.Client
	memory *miniredis.Miniredis // nil with a real Redis
}

// Open starts an embedded Redis, or connects to the one at a URL unless that is
// empty, and makes sure that it decides on the limits. name starts Run.
func Open(ctx context.Context, url, name string, limits ...weir.Limit) (*Redis, error) {
	Silence()
	s := &Redis{URL: url, Run: name + "-" + rand.Text()[:8]}
	if url == "" {
		s.memory = miniredis.NewMiniRedis()
		if err := s.memory.Start(); err != nil {
			return nil, fmt.Errorf("the embedded redis: %w", err)
		}
		s.memory.ClockTTL(true) // keys expire as time goes by, as in a real Redis
		s.URL = "redis://" + s.memory.Addr()
	}
	var err error
	if s.Store, s.client, err = Connect(s.URL); err != nil {
		s.Close()
		return nil, fmt.Errorf("-redis: %w", err)
	}
	s.What = "redis at " + s.client.Options().Addr
	if s.memory != nil {
		s.What = "a redis embedded in this process, at " + s.memory.Addr()
	}
	if err := s.check(ctx, limits); err != nil {
		s.Close()
		return nil, fmt.Errorf("-redis: %s makes no decisions: %w", s.What, err)
	}
	return s, nil
}

// check asks for a decision, which shows more than a PING: that this Redis is
// there, lets us in and runs the script. It also makes the script known before
// all workers ask for it at once.
func (s *Redis) check(ctx context.Context, limits []weir.Limit) error {
	l, err := weir.New(weir.Config{Name: s.Run, Store: s.Store, Limits: limits})
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

// Close ends the embedded Redis, or the connections to the real one.
func (s *Redis) Close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.memory != nil {
		s.memory.Close()
	}
}

// Connect returns a store over the Redis at a URL, and its client, which is the
// caller's to close. It does no I/O.
func Connect(at string) (*redisstore.Store, *redis.Client, error) {
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

// Silence keeps go-redis from logging: what it would say is in the errors.
func Silence() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
