// Package inspect reads the limits that package redisstore keeps in Redis, for people: the
// keys under a prefix, their use, bookings ahead, brakes and calls in flight. The command
// weir and the dashboard show its results.
//
// It changes nothing. It sends SCAN with a bound, and for each key GETRANGE, PTTL, LRANGE,
// ZCARD and ZRANGE in pipelines, and TIME. It runs no script, so a user with these
// commands is enough. All arithmetic is that of package exact.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir/internal/redisclient"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Inspector reads the state of limits. It is safe for concurrent use.
type Inspector struct {
	client redis.UniversalClient
	prefix string
	// ahead moves the clock of each server, for tests.
	ahead time.Duration
}

// New returns an Inspector of the keys under the prefix of a redisstore.Store. It does no
// I/O, and never closes the client.
func New(client redis.UniversalClient, prefix string) *Inspector {
	return &Inspector{client: client, prefix: prefix}
}

type node = redisclient.Server

// errNoServer is the error of a Ring that finds all its shards down.
var errNoServer = errors.New("no server is up")

// nodes returns the servers: each master of a cluster, each shard of a ring.
func (i *Inspector) nodes(ctx context.Context) ([]node, error) {
	nodes, err := redisclient.Servers(ctx, i.client)
	if err == nil && len(nodes) == 0 {
		err = errNoServer
	}
	return nodes, err
}

// each calls f for each server, and returns those without an error. The error has those of
// the others, with their names.
func each(nodes []node, f func(n node) error) (up []node, failed error) {
	for _, n := range nodes {
		switch err := f(n); {
		case err == nil:
			up = append(up, n)
		case len(nodes) == 1:
			failed = err
		default:
			failed = errors.Join(failed, fmt.Errorf("keys of %s are missing: %w", n.Addr, err))
		}
	}
	return up, failed
}

// Stored reads a key by the name of its state in Redis. A key without state is
// [Key.Missing], and no error.
func (i *Inspector) Stored(ctx context.Context, state string) (Key, error) {
	name, ok := rediskey.Parse(i.prefix, state)
	if !ok || name.Part != "" {
		return Key{}, &store.ConfigError{Field: "key", Want: "a name as " + i.prefix + "{limiter:key}", Got: state}
	}
	n, err := redisclient.ServerOf(ctx, i.client, state)
	if err != nil {
		return Key{}, err
	}
	keys, err := i.read(ctx, n, []wanted{whole(name)}, maxLog)
	if err != nil {
		return Key{}, err
	}
	return keys[0], nil
}
