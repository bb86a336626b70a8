package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// BenchmarkTake measures the cost of the fallback: over a primary that answers at once,
// and over one that is away. The primary alone is the baseline.
func BenchmarkTake(b *testing.B) {
	limit := store.Per(1<<40, time.Second)
	for _, bench := range []struct {
		name  string
		store func() store.Store
	}{
		{"primary alone", func() store.Store { return newPrimary(b).store }},
		{"closed", func() store.Store { return open(b, fallback.Config{Primary: newPrimary(b).store}) }},
		{"open", func() store.Store { return away(b, fallback.Config{}) }},
		{"open, 4 replicas", func() store.Store { return away(b, fallback.Config{Replicas: 4}) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := bench.store()
			l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.Limit(limit)}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Allow(context.Background(), "k"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// away returns a store whose breaker is open for good.
func away(tb testing.TB, cfg fallback.Config) *fallback.Store {
	p := newPrimary(tb)
	p.set(errAway, 0)
	cfg.Primary, cfg.Probe = p, time.Hour
	s := open(tb, cfg)
	for range 3 {
		take(tb, s, charge("k", 1, store.Per(1000, time.Second)))
	}
	return s
}

func overRedis(tb testing.TB) *redisstore.Store {
	tb.Helper()
	s, err := redisstore.New(redisstore.Config{Client: redistest.Start(tb).Client()})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkRefused measures a repeated call just after a refusal: with a primary that
// remembers refusals, and with one that does not.
func BenchmarkRefused(b *testing.B) {
	primary := overRedis(b)
	for _, bench := range []struct {
		name    string
		primary store.Store
	}{
		{"remembered", primary},
		{"asked for", struct{ store.Store }{primary}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := open(b, fallback.Config{Primary: bench.primary})
			l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerDay(1)}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Allow(context.Background(), "k"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOverRedis measures the cost of the fallback over Redis, for 64 concurrent
// callers with one key and with many.
func BenchmarkOverRedis(b *testing.B) {
	primary := overRedis(b)
	for _, bench := range []struct {
		name  string
		store store.Store
	}{
		{"alone", primary},
		{"closed", open(b, fallback.Config{Primary: primary})},
	} {
		for _, keys := range []uint32{1, 10_000} {
			b.Run(fmt.Sprintf("%s/%d keys", bench.name, keys), func(b *testing.B) {
				l, err := weir.New(weir.Config{Name: "api", Store: bench.store, Limits: []weir.Limit{weir.PerSecond(1_000_000)}})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.SetParallelism(64 / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := l.Allow(context.Background(), strconv.Itoa(int(rand.Uint32N(keys)))); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
