package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// No contender ever gets near its limit, so that each of them admits every call
// and remembers it: what is measured is the decision, and not how cheap a
// refusal is. A bucket gets a unit a second, a window is an hour long: nothing
// that was taken is forgotten while it is measured.
const (
	most   = 1_000_000_000 // the burst of a bucket, the rate of a window
	refill = time.Second   // for one unit of a bucket
	window = time.Hour
)

// contender is a store or a library that takes part.
type contender struct {
	name string
	open func(b *testing.B) decide
}

// decide charges one unit to a key.
type decide func(ctx context.Context, key string) (allowed bool, err error)

var errRefused = errors.New("refused, far below the limit")

// makeKeys returns n keys as an API would have them.
func makeKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("customer-%08d", i)
	}
	return keys
}

// open makes the first decision of each key, so that all keys exist when the
// clock starts.
func (d decide) open(b *testing.B, keys []string) {
	for _, key := range keys {
		if allowed, err := d(context.Background(), key); err != nil || !allowed {
			b.Fatalf("the first call of %s: allowed %t, %v", key, allowed, err)
		}
	}
}

// measure has a number of goroutines make b.N decisions together. A call that
// the contender itself gives up is counted, as it is part of how it works; one
// that is refused ends the benchmark.
func (d decide) measure(b *testing.B, keys []string, goroutines int, observe func(i int, took time.Duration)) {
	ctx := context.Background()
	var failed atomic.Int64
	var refused atomic.Bool
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < b.N; i += goroutines {
				// Goroutines meet on a key now and then, and not in step.
				key := keys[(i+g*len(keys)/goroutines)%len(keys)]
				start := time.Time{}
				if observe != nil {
					start = time.Now()
				}
				switch allowed, err := d(ctx, key); {
				case err != nil:
					failed.Add(1)
				case !allowed:
					refused.Store(true)
					return
				}
				if observe != nil {
					observe(i, time.Since(start))
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	if refused.Load() {
		b.Fatal(errRefused)
	}
	if n := failed.Load(); n > 0 {
		b.ReportMetric(float64(n)/float64(b.N), "errors/op")
	}
}
