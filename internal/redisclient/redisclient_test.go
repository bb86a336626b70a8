package redisclient

import (
	"runtime"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestPoolSize: by default, shared round trips may use three quarters of a client's connections.
func TestPoolSize(t *testing.T) {
	t.Parallel()
	procs := runtime.GOMAXPROCS(0)
	for name, c := range map[string]struct {
		client redis.UniversalClient
		want   int
	}{
		"the default":         {redis.NewClient(&redis.Options{}), 10 * procs},
		"a size":              {redis.NewClient(&redis.Options{PoolSize: 8}), 8},
		"a maximum":           {redis.NewClient(&redis.Options{PoolSize: 8, MaxActiveConns: 6}), 6},
		"a cluster's default": {redis.NewClusterClient(&redis.ClusterOptions{}), 5 * procs},
		"a cluster":           {redis.NewClusterClient(&redis.ClusterOptions{PoolSize: 40}), 40},
		"a ring's default":    {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}}), 10 * procs},
		"a ring":              {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}, PoolSize: 7}), 7},
	} {
		is, ok := OptionsOf(c.client)
		if got := is.PoolSize(); !ok || got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		_ = c.client.Close()
	}
}
