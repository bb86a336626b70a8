// Package redisclient treats all clients of go-redis alike.
package redisclient

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

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

// Server is a server that has keys. Addr is empty for a client of an unknown type.
type Server struct {
	Client redis.UniversalClient
	Addr   string
	TLS    bool
}

func server(client redis.UniversalClient) Server {
	if c, ok := client.(*redis.Client); ok {
		return Server{c, c.Options().Addr, c.Options().TLSConfig != nil}
	}
	return Server{Client: client}
}

// Servers returns the servers of a client, by address: each master of a cluster, and each
// shard of a ring that is up.
func Servers(ctx context.Context, client redis.UniversalClient) (all []Server, err error) {
	switch c := client.(type) {
	case *redis.ClusterClient:
		var mu sync.Mutex
		err = c.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, server(master))
			return nil
		})
	case *redis.Ring:
		for _, shard := range c.GetShardClients() {
			all = append(all, server(shard))
		}
	default:
		all = append(all, server(client))
	}
	slices.SortFunc(all, func(a, b Server) int { return cmp.Compare(a.Addr, b.Addr) })
	return all, err
}

// ServerOf returns the server that has a key.
func ServerOf(ctx context.Context, client redis.UniversalClient, key string) (Server, error) {
	of := ForKey(client)
	if of == nil {
		return server(client), nil
	}
	one, err := of(ctx, key)
	if err != nil {
		return Server{}, err
	}
	return server(one), nil
}
