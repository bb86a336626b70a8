package contender

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/go-redis/v9"
)

// Servers is the Redis that a contender is to decide by: one server, or the
// masters of a cluster.
type Servers struct {
	Addrs   []string
	Cluster bool
	// Via has an address to dial in place of each that the nodes of a cluster
	// know. Empty: none.
	Via map[string]string
	// TLS: the server speaks TLS, with a certificate that no client checks.
	TLS bool
	// PoolSize is the maximum number of connections of a go-redis client. 0: its
	// default.
	PoolSize int
}

// Client returns a go-redis client with its defaults: the same for everybody
// who uses go-redis and is not said to need another one.
func (s Servers) Client(c Cleaner) redis.UniversalClient { return open(c, s.options()) }

// Single is Client for those who take clients of one server only.
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

// dial connects to the address that stands for the one of a node.
func (s Servers) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if via, ok := s.Via[addr]; ok {
		addr = via
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
