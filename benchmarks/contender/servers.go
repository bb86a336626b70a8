package contender

import (
	"github.com/redis/go-redis/v9"
)

// Servers is the Redis that a contender is to decide by: one server, or the
// masters of a cluster.
type Servers struct {
	Addrs   []string
	Cluster bool
}

// Client returns a go-redis client with its defaults: the same for everybody
// who uses go-redis and is not said to need another one.
func (s Servers) Client(c Cleaner) redis.UniversalClient {
	if s.Cluster {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs})
		c.Cleanup(func() { _ = client.Close() })
		return client
	}
	return s.Single(c)
}

// Single is Client for those who take clients of one server only.
func (s Servers) Single(c Cleaner) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Addrs[0]})
	c.Cleanup(func() { _ = client.Close() })
	return client
}
