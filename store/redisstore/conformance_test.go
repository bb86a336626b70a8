package redisstore

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/storetest"
	"github.com/redis/go-redis/v9"
)

// conformance runs the suite with a prefix for each case.
func conformance(t *testing.T, client func(t testing.TB) redis.UniversalClient) {
	var cases atomic.Int64
	storetest.RunWithClock(t, func(t *testing.T) (store.Store, func(time.Duration)) {
		return newStill(t, client(t), fmt.Sprintf("case%d:", cases.Add(1)))
	})
}

// TestConformanceMiniredis is for machines without a redis-server. It takes far longer than
// TestConformanceRedis.
func TestConformanceMiniredis(t *testing.T) {
	if _, err := exec.LookPath(cmp.Or(os.Getenv("WEIR_REDIS_SERVER"), "redis-server")); err == nil {
		t.Skip("TestConformanceRedis tries a redis-server")
	}
	t.Parallel()
	conformance(t, func(t testing.TB) redis.UniversalClient {
		_, c := miniClient(t)
		return c
	})
}

func TestConformanceRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute }) // Hundreds of calls come at once.
	t.Cleanup(func() { everyKeyHasATTL(t, c) })                                // After the parallel cases.
	conformance(t, func(testing.TB) redis.UniversalClient { return c })
}

func TestConformanceCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := cluster.Client(func(o *redis.ClusterOptions) { o.PoolTimeout = time.Minute })
	conformance(t, func(testing.TB) redis.UniversalClient { return c })
}
