package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
)

// BenchmarkTake measures a decision over a real server, from one caller and
// from many.
func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	s := newStore(b, server.Client(func(o *redis.Options) { o.PoolSize = 64 }))
	huge := weir.PerSecond(1_000_000_000)
	for _, bench := range []struct {
		name   string
		limits []weir.Limit
	}{
		{"gcra", []weir.Limit{huge}},
		{"refused", []weir.Limit{weir.PerDay(1)}},
		{"two gcra", []weir.Limit{huge, weir.PerHour(1 << 40)}},
		{"sliding window", []weir.Limit{weir.Per(1000, 100*time.Millisecond).By(weir.SlidingWindow)}},
		{"two sliding windows", []weir.Limit{weir.Per(25, 5*time.Second).By(weir.SlidingWindow), weir.Per(300, time.Minute).By(weir.SlidingWindow)}},
		{"fixed window", []weir.Limit{weir.PerHour(1 << 40).By(weir.FixedWindow)}},
	} {
		req := charge(bench.name, 1, bench.limits...)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				take(b, s, req)
			}
		})
	}
	for _, callers := range []int{8, 64} {
		for _, keys := range []int64{1, 10_000} {
			b.Run(fmt.Sprintf("gcra, %d callers, %d keys", callers, keys), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(callers / 2)
				names := make([]string, keys)
				for i := range names {
					names[i] = fmt.Sprint("user ", i)
				}
				var n atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := s.Take(context.Background(), charge(names[n.Add(1)%keys], 1, huge)); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
