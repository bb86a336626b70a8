package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// BenchmarkTake measures a decision over a real server, from one caller and
// from many.
func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	s := newStore(b, server.Client(func(o *redis.Options) { o.PoolSize = 64 }))
	huge := store.Per(1_000_000_000, time.Second)
	for _, bench := range []struct {
		name   string
		limits []store.Limit
	}{
		{"gcra", []store.Limit{huge}},
		{"refused", []store.Limit{store.Per(1, 24*time.Hour)}},
		{"two gcra", []store.Limit{huge, store.Per(1<<40, time.Hour)}},
		{"sliding window", []store.Limit{store.Per(1000, 100*time.Millisecond).By(store.SlidingWindow)}},
		{"two sliding windows", []store.Limit{store.Per(25, 5*time.Second).By(store.SlidingWindow), store.Per(300, time.Minute).By(store.SlidingWindow)}},
		{"fixed window", []store.Limit{store.Per(1<<40, time.Hour).By(store.FixedWindow)}},
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
