package fallback_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
)

// failover kills a master, whose replica takes over by itself.
func failover(t testing.TB, _ time.Duration) bed {
	s := redistest.StartSentinel(t)
	return bed{
		client: func(configured bool) redis.UniversalClient {
			return s.Client(func(o *redis.FailoverOptions) {
				if configured {
					redisstore.ConfigureFailover(o)
				}
			})
		},
		begin: s.Master.Kill,
		end:   func() { s.AwaitMaster(s.Replica) },
	}
}

// cluster loses a master. It refuses that master's keys, and a second later all keys.
func cluster(t testing.TB, _ time.Duration) bed {
	c := redistest.StartCluster(t, "--cluster-node-timeout", "1000")
	return bed{
		client: func(configured bool) redis.UniversalClient {
			return c.Client(func(o *redis.ClusterOptions) {
				if configured {
					redisstore.ConfigureCluster(o)
				}
			})
		},
		begin: c.Nodes[2].Kill,
		end: func() {
			c.Nodes[2].Restart()
			c.Await()
			time.Sleep(100 * time.Millisecond)
		},
	}
}
