package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
)

// BenchmarkRedis measures a decision of a redis-server on the same machine, one
// that the benchmark starts. Besides the time per decision it reports what a
// call takes at worst (p99-µs), and how often a decision goes to the server and
// back (trips/op).
func BenchmarkRedis(b *testing.B) {
	server := redistest.Start(b)
	for _, c := range []struct {
		name string
		open func(b *testing.B, client *redis.Client) decide
	}{
		{"weir-gcra", weirRedis(weir.GCRA)},
		{"weir-window", weirRedis(weir.SlidingWindow)},
		{"weir-counter", weirRedis(weir.SlidingCounter)},
		{"weir-fixed", weirRedis(weir.FixedWindow)},
		{"redis_rate", openRedisRate},
		{"ulule", openUluleRedis},
		{"throttled", openThrottledRedis},
	} {
		for _, keys := range []int{1, 10_000} {
			for _, goroutines := range []int{8, 64} {
				b.Run(fmt.Sprintf("store=%s/keys=%d/goroutines=%d", c.name, keys, goroutines), func(b *testing.B) {
					trips := new(tripCounter)
					client := server.Client(func(o *redis.Options) { o.PoolSize = goroutines })
					defer client.Close()
					if err := client.FlushAll(context.Background()).Err(); err != nil {
						b.Fatal(err)
					}
					client.AddHook(trips)
					d, names := c.open(b, client), makeKeys(keys)
					d.open(b, names)
					trips.n.Store(0)
					took := make([]time.Duration, b.N)
					d.measure(b, names, goroutines, func(i int, t time.Duration) { took[i] = t })
					slices.Sort(took)
					b.ReportMetric(float64(took[b.N*99/100].Nanoseconds())/1000, "p99-µs")
					b.ReportMetric(float64(trips.n.Load())/float64(b.N), "trips/op")
				})
			}
		}
	}
}

func weirRedis(a weir.Algorithm) func(*testing.B, *redis.Client) decide {
	return func(b *testing.B, client *redis.Client) decide {
		store, err := redisstore.New(redisstore.Config{Client: client})
		if err != nil {
			b.Fatal(err)
		}
		return weirOver(b, store, a)
	}
}

func openRedisRate(_ *testing.B, client *redis.Client) decide {
	l := redis_rate.NewLimiter(client)
	limit := redis_rate.Limit{Rate: 1, Burst: most, Period: refill}
	return func(ctx context.Context, key string) (bool, error) {
		r, err := l.Allow(ctx, key, limit)
		return err != nil || r.Allowed > 0, err
	}
}

func openUluleRedis(b *testing.B, client *redis.Client) decide {
	store, err := ululeredis.NewStore(client)
	if err != nil {
		b.Fatal(err)
	}
	return decideUlule(store)
}

func openThrottledRedis(b *testing.B, client *redis.Client) decide {
	store, err := goredisstore.NewCtx(client, "throttled:")
	if err != nil {
		b.Fatal(err)
	}
	return decideThrottled(b, store)
}

// tripCounter is a go-redis hook that counts round trips.
type tripCounter struct{ n atomic.Int64 }

func (c *tripCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *tripCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *tripCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}
