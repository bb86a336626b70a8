package contender

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/go-redis/v9"
)

// Servers is the Redis of a contender: one server, or the masters of a cluster.
type Servers struct {
	Addrs   []string
	Cluster bool
	// Via has an address to dial in place of each address of a cluster's nodes. Empty:
	// none.
	Via map[string]string
	// TLS reports whether the server speaks TLS, with a certificate that no client
	// checks.
	TLS bool
	// PoolSize is the maximum number of connections of a go-redis client. 0: its default.
	PoolSize int
}

// Client returns a go-redis client with its defaults, for all contenders that use
// go-redis and need no other one.
func (s Servers) Client(c Cleaner) redis.UniversalClient { return open(c, s.options()) }

// Single is Client for contenders that need a client of one server.
func (s Servers) Single(c Cleaner) *redis.Client {
	client := redis.NewClient(s.options().Simple())
	c.Cleanup(func() { _ = client.Close() })
	return client
}

func (s Servers) options() *redis.UniversalOptions {
	o := &redis.UniversalOptions{Addrs: s.Addrs, IsClusterMode: s.Cluster, PoolSize: s.PoolSize, TLSConfig: s.tls()}
	if len(s.Via) > 0 {
		o.Dialer = s.dial
	}
	return o
}

func open(c Cleaner, o *redis.UniversalOptions) redis.UniversalClient {
	client := redis.NewUniversalClient(o)
	c.Cleanup(func() { _ = client.Close() })
	return client
}

func (s Servers) tls() *tls.Config {
	if !s.TLS {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true}
}

// dial connects to the address in place of a node's.
func (s Servers) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if via, ok := s.Via[addr]; ok {
		addr = via
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
