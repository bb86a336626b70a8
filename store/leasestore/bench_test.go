package leasestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// BenchmarkOverRedis runs 256 callers, on one key and on many.
func BenchmarkOverRedis(b *testing.B) {
	server := redistest.Start(b)
	for _, keys := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			client := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64})
			defer func() { _ = client.Close() }()
			inner, err := redisstore.New(redisstore.Config{Client: client})
			if err != nil {
				b.Fatal(err)
			}
			s := open(b, leasestore.Config{Store: inner})
			defer done(b, s)
			l := limiter(b, s, weir.PerSecond(1_000_000_000))
			names := customers(keys)
			const callers = 256
			before := server.Commands()["evalsha"]
			b.ReportAllocs()
			b.ResetTimer()
			drive(b, l, names, callers)
			b.StopTimer()
			b.ReportMetric(float64(server.Commands()["evalsha"]-before)/float64(b.N), "calls/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// BenchmarkAllow measures decisions of a Limiter on units taken ahead, for many callers at
// once.
func BenchmarkAllow(b *testing.B) {
	for _, keys := range []int{1, 10_000} {
		for _, callers := range []int{1, 256} {
			b.Run(fmt.Sprintf("keys=%d/callers=%d", keys, callers), func(b *testing.B) {
				s := open(b, leasestore.Config{Store: newBehind(b), Units: 1 << 16, For: 10 * time.Second})
				defer done(b, s)
				l := limiter(b, s, weir.PerSecond(1_000_000_000))
				names := customers(keys)
				for _, name := range names {
					for range 64 {
						if _, err := l.Allow(context.Background(), name); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				drive(b, l, names, callers)
			})
		}
	}
}

// drive makes callers ask b.N times for random keys.
func drive(b *testing.B, l *weir.Limiter, names []string, callers int) {
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for i := c; i < b.N; i += callers {
				if d, err := l.Allow(context.Background(), names[random.IntN(len(names))]); err != nil || !d.Allowed {
					b.Errorf("%+v, %v", d, err)
					return
				}
			}
		})
	}
	all.Wait()
}
