// Package client tells what the clients of go-redis have in common.
package client

import (
	"cmp"
	"context"
	"runtime"

	"github.com/redis/go-redis/v9"
)

// Options are options of a client.
type Options struct {
	Deadlines      bool // ContextTimeoutEnabled
	Retries, Dials int  // MaxRetries, DialerRetries
	Pool, Active   int  // PoolSize, MaxActiveConns
}

// OptionsOf returns the options of a client, unless it is of an unknown type.
func OptionsOf(client redis.UniversalClient) (is Options, ok bool) {
	switch c := client.(type) {
	case *redis.Client:
		o := c.Options()
		return Options{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}, true
	case *redis.ClusterClient:
		o := c.Options()
		return Options{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}, true
	case *redis.Ring:
		o := c.Options()
		return Options{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}, true
	}
	return is, false
}

// PoolSize returns the maximum number of connections to each server.
func (o Options) PoolSize() int {
	size := cmp.Or(o.Pool, 10*runtime.GOMAXPROCS(0)) // a Ring's default
	if o.Active > 0 {
		size = min(size, o.Active)
	}
	return size
}

// ForKey returns a function that finds the server of a key; nil if the client has one server.
func ForKey(client redis.UniversalClient) func(ctx context.Context, key string) (*redis.Client, error) {
	switch c := client.(type) {
	case *redis.Client:
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	}:
		return c.MasterForKey
	case interface {
		GetShardClientForKey(key string) (*redis.Client, error)
	}:
		return func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
	}
	return nil
}
