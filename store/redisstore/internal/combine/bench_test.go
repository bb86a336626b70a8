package combine_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// spin takes the time of a round trip on loopback. Other goroutines run meanwhile.
func spin(context.Context, []group) error {
	for begin := time.Now(); time.Since(begin) < 60*time.Microsecond; {
		runtime.Gosched()
	}
	return nil
}

// BenchmarkAlone measures the time that a queue adds to the round trip of a lone caller.
func BenchmarkAlone(b *testing.B) {
	for _, server := range []struct {
		name string
		send func(context.Context, []group) error
	}{
		{"nothing", func(context.Context, []group) error { return nil }},
		{"60µs", spin},
	} {
		q := combine.New(config{Send: server.send})
		one := []group{{Key: "key", Calls: []*call{{number: 1}}}}
		b.Run(server.name+"/direct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = server.send(b.Context(), one)
			}
		})
		b.Run(server.name+"/Do", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := q.Do(b.Context(), "key", call{number: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(server.name+"/Start", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := q.Start(b.Context(), "key", call{number: 1})
				<-p.Done()
				if _, err := p.Result(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCallers measures callers that call again as soon as they have a result.
func BenchmarkCallers(b *testing.B) {
	for _, keys := range []int64{1, 10_000} {
		names := make([]string, keys)
		for i := range names {
			names[i] = fmt.Sprint("user ", i)
		}
		for _, callers := range []int{1, 8, 64, 256} {
			for _, ends := range []bool{false, true} {
				b.Run(fmt.Sprintf("keys=%d/callers=%d/ends=%t", keys, callers, ends), func(b *testing.B) {
					benchmarkCallers(b, names, callers, ends)
				})
			}
		}
	}
}

// benchmarkCallers measures callers whose contexts can end, or can't.
func benchmarkCallers(b *testing.B, names []string, callers int, ends bool) {
	var trips, calls atomic.Int64
	q := combine.New(config{Send: func(ctx context.Context, batch []group) error {
		trips.Add(1)
		return spin(ctx, batch)
	}})
	b.ReportAllocs()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			ctx := context.Background()
			if ends {
				own, cancel := context.WithCancel(ctx)
				defer cancel()
				ctx = own
			}
			for {
				i := calls.Add(1)
				if i > int64(b.N) {
					return
				}
				if _, _, err := q.Do(ctx, names[i%int64(len(names))], call{number: 1}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/float64(trips.Load()), "calls/trip")
}
