package promweir_test

import (
	"context"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// stub is a Store that admits all calls at once.
type stub struct{}

func (stub) Take(_ context.Context, r store.Request) (store.Decision, error) {
	l := r.Charges[0].Limit
	return store.Decision{Allowed: true, Reason: store.ReasonAllowed, Source: store.SourceStore, Limit: l, Scope: r.Charges[0].Scope, Remaining: l.Rate}, nil
}

// BenchmarkAllow compares decisions without a Hook with those that a Collector counts: by a
// localstore, which has a shorter way, and by another Store, where the call is timed too.
func BenchmarkAllow(b *testing.B) {
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name  string
		store weir.Store
		hook  weir.Hook
	}{
		{"local/none", local, nil},
		{"local/set", local, promweir.New().Observe},
		{"stub/none", stub{}, nil},
		{"stub/set", stub{}, promweir.New().Observe},
	} {
		b.Run(bb.name, func(b *testing.B) {
			l, err := weir.New(weir.Config{Store: bb.store, Name: "bench", Limits: []weir.Limit{weir.PerSecond(1 << 40)}, Hook: bb.hook})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Allow(context.Background(), "key"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
