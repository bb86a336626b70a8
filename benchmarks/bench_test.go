package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/internal/redistest"
)

// TestMain runs the program itself if a test started it as a child.
func TestMain(m *testing.M) {
	if measure.Child() {
		return
	}
	os.Exit(m.Run())
}

// These are the same decisions for go test -bench, profiles and benchstat. The names are
// key=value pairs, which benchstat can compare.

func BenchmarkLocal(b *testing.B) {
	for _, c := range contender.All() {
		if c.Local == nil {
			continue
		}
		for _, keys := range []int{1, 10_000} {
			for _, goroutines := range []int{1, 8} {
				b.Run(fmt.Sprintf("store=%s/keys=%d/goroutines=%d", c.Name, keys, goroutines), func(b *testing.B) {
					d, err := c.Local(b, contender.Roomy(keys))
					if err != nil {
						b.Fatal(err)
					}
					decisions(b, d, keys, goroutines)
				})
			}
		}
	}
}

func BenchmarkRedis(b *testing.B) {
	server := redistest.Start(b)
	at := contender.Servers{Addrs: []string{server.Addr}}
	for _, c := range contender.All() {
		if c.Redis == nil || c.Batch > 0 {
			continue
		}
		for _, keys := range []int{1, 10_000} {
			for _, goroutines := range []int{8, 64} {
				b.Run(fmt.Sprintf("store=%s/keys=%d/goroutines=%d", c.Name, keys, goroutines), func(b *testing.B) {
					d, err := c.Redis(b, contender.Roomy(keys), at)
					if err != nil {
						b.Fatal(err)
					}
					before := server.Commands()["evalsha"]
					decisions(b, d, keys, goroutines)
					b.ReportMetric(float64(server.Commands()["evalsha"]-before)/float64(b.N), "evalsha/op")
				})
			}
		}
	}
}

func BenchmarkHTTP(b *testing.B) {
	for _, c := range contender.All() {
		if c.Web.Mount == nil {
			continue
		}
		b.Run("middleware="+c.Name, func(b *testing.B) {
			h, err := c.Web.Mount(b, contender.Roomy(1), contender.Nothing)
			if err != nil {
				b.Fatal(err)
			}
			once := measure.Request(h)
			b.ReportAllocs()
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// decisions makes b.N decisions on several goroutines, far below the limit.
func decisions(b *testing.B, d contender.Decide, keys, goroutines int) {
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("customer-%08d", i)
	}
	var failed, refused atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < b.N; i += goroutines {
				switch allowed, err := d(context.Background(), names[(i+g*keys/goroutines)%keys]); {
				case err != nil:
					failed.Add(1)
				case !allowed:
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	if n := refused.Load(); n > 0 {
		b.Fatalf("%d refused, far below the limit", n)
	}
	// A contender that gives calls up shows it here.
	if n := failed.Load(); n > 0 {
		b.ReportMetric(float64(n)/float64(b.N), "errors/op")
	}
}
