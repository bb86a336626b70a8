package dashboard

import (
	"context"
	"testing"

	"github.com/goweir/weir"
)

func BenchmarkObserve(b *testing.B) {
	d, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	e := weir.Event{Kind: weir.EventDecision, Scope: "api", Key: "user:1", Cost: 1, Decision: weir.Decision{Allowed: true}}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Observe(context.Background(), e)
		}
	})
	b.Run("at once", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				d.Observe(context.Background(), e)
			}
		})
	})
	b.Run("many keys", func(b *testing.B) {
		keys := ids(10_000)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			e.Key = keys[i*7919%len(keys)]
			d.Observe(context.Background(), e)
		}
	})
}
