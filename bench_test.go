package weir_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// freeStore admits everything at once, so that what is measured is the
// limiter's own work.
type freeStore struct{}

func (freeStore) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{Allowed: true}, nil
}

func BenchmarkAllow(b *testing.B) {
	l := newLimiter(b, freeStore{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(ctx, "key"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWait(b *testing.B) {
	maxWaiters := func(c *weir.Config) { c.MaxWaiters = 1000 }
	b.Run("one key", func(b *testing.B) {
		l := newLimiter(b, freeStore{})
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Wait(ctx, "key"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one key, parallel", func(b *testing.B) {
		l := newLimiter(b, freeStore{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := l.Wait(context.Background(), "key"); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("many keys, most waiters, parallel", func(b *testing.B) {
		l := newLimiter(b, freeStore{}, maxWaiters)
		keys := make([]string, 1024)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		var next atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := next.Add(97); pb.Next(); i++ {
				if err := l.Wait(context.Background(), keys[i%1024]); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
