// Package sharedredis is the Redis of an example's processes: a real one, or one embedded
// in the program, which needs no installation.
package sharedredis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/store/redisstore"
)

// Redis is a running Redis, with a store over it.
type Redis struct {
	URL   string // for the other processes
	What  string // for readers, without a password
	Run   string // a part of limiters' names, unique to this run
	Store *redisstore.Store

	memory *miniredis.Miniredis // nil with a real Redis
}

// Open starts an embedded Redis, or connects to the one at a URL if that is not empty,
// and checks that it decides. name starts Run.
func Open(ctx context.Context, at, name string) (*Redis, error) {
	Silence()
	s := &Redis{URL: at, Run: name + "-" + rand.Text()[:8]}
	if at == "" {
		s.memory = miniredis.NewMiniRedis()
		if err := s.memory.Start(); err != nil {
			return nil, fmt.Errorf("the embedded redis: %w", err)
		}
		s.memory.ClockTTL(true) // keys expire over time, as in a real Redis
		// A reply comes late when the machine is busy: that is no fault of Redis.
		s.URL = "redis://" + s.memory.Addr() + "?read_timeout=3s&write_timeout=3s"
	}
	var err error
	if s.Store, err = redisstore.Open(s.URL, redisstore.Config{}); err != nil {
		s.Close()
		return nil, fmt.Errorf("-redis: %w", err)
	}
	s.What = "redis at " + s.URL
	if u, err := url.Parse(s.URL); err == nil {
		s.What = "redis at " + u.Host + u.Path
	}
	if s.memory != nil {
		s.What = "a redis embedded in this process, at " + s.memory.Addr()
	}
	if err := s.check(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("-redis: %s makes no decisions: %w", s.What, err)
	}
	return s, nil
}

// check returns the faults of this Redis.
func (s *Redis) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var faults []error
	for _, f := range s.Store.Check(ctx) {
		if f.Level == redisstore.Fault {
			faults = append(faults, errors.New(f.String()))
		}
	}
	return errors.Join(faults...)
}

// Close ends the embedded Redis, or the connections to the real one.
func (s *Redis) Close() {
	if s.Store != nil {
		_ = s.Store.Close()
	}
	if s.memory != nil {
		s.memory.Close()
	}
}

// Silence turns go-redis' log off: errors say the same.
func Silence() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
