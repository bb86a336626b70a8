package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
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

// known is a primary that has decided each call beforehand.
type known struct{ *primary }

func (known) Start(_ context.Context, _ store.Store, req *store.Request) store.Started {
	return answeredCall{req}
}

type answeredCall struct{ req *store.Request }

var answered = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (answeredCall) Done() <-chan struct{} { return answered }
func (answeredCall) Leave() bool           { return false }
func (c answeredCall) Decision() (store.Decision, bool, error) {
	at := store.Instant(time.Now().UnixMicro())
	c.req.Seen[0] = store.Seen{At: at, Used: store.Used{At: at + 1000}}
	return store.Decision{Allowed: true, Limit: c.req.Charges[0].Limit, Remaining: 1, At: at}, true, nil
}

// BenchmarkStarted measures the cost of the fallback alone, of calls that need no goroutine.
func BenchmarkStarted(b *testing.B) {
	s := open(b, fallback.Config{Primary: known{newPrimary(b)}})
	req := charge("k", 1, store.Per(1<<40, time.Second))
	meet(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if d, err := s.Take(context.Background(), req); err != nil || d.Degraded {
			b.Fatal(d, err)
		}
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

// BenchmarkOverRedis measures the cost of the fallback over Redis, for concurrent callers
// with one key and with many.
func BenchmarkOverRedis(b *testing.B) {
	primary := overRedis(b)
	for _, bench := range []struct {
		name  string
		store store.Store
	}{
		{"alone", primary},
		{"closed", open(b, fallback.Config{Primary: primary})},
	} {
		for _, test := range []struct {
			callers int
			keys    uint32
		}{{1, 1}, {64, 1}, {64, 10_000}, {256, 1}} {
			b.Run(fmt.Sprintf("%s/%d callers, %d keys", bench.name, test.callers, test.keys), func(b *testing.B) {
				l, err := weir.New(weir.Config{Name: "api", Store: bench.store, Limits: []weir.Limit{weir.PerSecond(1_000_000)}})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var wg sync.WaitGroup
				var calls atomic.Int64
				for range test.callers {
					wg.Go(func() {
						for calls.Add(1) <= int64(b.N) {
							if _, err := l.Allow(context.Background(), strconv.Itoa(int(rand.Uint32N(test.keys)))); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
