package benchmarks

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/didip/tollbooth/v7"
	"github.com/didip/tollbooth/v7/limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	xrate "golang.org/x/time/rate"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// BenchmarkLocal measures a decision within the process.
func BenchmarkLocal(b *testing.B) {
	for _, c := range []contender{
		{"weir-gcra", weirLocal(weir.GCRA)},
		{"weir-counter", weirLocal(weir.SlidingCounter)},
		{"weir-fixed", weirLocal(weir.FixedWindow)},
		{"x-time-rate", openMap},
		{"go-limiter", openGoLimiter},
		{"ulule", openUlule},
		{"throttled", openThrottled},
		{"tollbooth", openTollbooth},
	} {
		for _, keys := range []int{1, 10_000} {
			for _, goroutines := range []int{1, 8} {
				b.Run(fmt.Sprintf("store=%s/keys=%d/goroutines=%d", c.name, keys, goroutines), func(b *testing.B) {
					d, names := c.open(b), makeKeys(keys)
					d.open(b, names)
					d.measure(b, names, goroutines, nil)
				})
			}
		}
	}
}

func weirLocal(a weir.Algorithm) func(*testing.B) decide {
	return func(b *testing.B) decide {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			b.Fatal(err)
		}
		return weirOver(b, store, a)
	}
}

// weirOver decides through a Limiter, as users of weir do.
func weirOver(b *testing.B, store weir.Store, a weir.Algorithm) decide {
	l := newLimiter(b, store, a)
	return func(ctx context.Context, key string) (bool, error) {
		d, err := l.Allow(ctx, key)
		return d.Allowed, err
	}
}

func newLimiter(b *testing.B, store weir.Store, a weir.Algorithm) *weir.Limiter {
	limit := weir.Per(most, window).By(a)
	if a == weir.GCRA {
		limit = weir.Per(1, refill).WithBurst(most)
	}
	l, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{limit}})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// openMap is what is written most often: a map of x/time/rate's limiters behind
// a mutex. It never forgets a key.
func openMap(*testing.B) decide {
	var mu sync.Mutex
	limiters := make(map[string]*xrate.Limiter)
	return func(_ context.Context, key string) (bool, error) {
		mu.Lock()
		l := limiters[key]
		if l == nil {
			l = xrate.NewLimiter(xrate.Every(refill), most)
			limiters[key] = l
		}
		mu.Unlock()
		return l.Allow(), nil
	}
}

func openGoLimiter(b *testing.B) decide {
	store, err := memorystore.New(&memorystore.Config{Tokens: most, Interval: window})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close(context.Background()) })
	return func(ctx context.Context, key string) (bool, error) {
		_, _, _, ok, err := store.Take(ctx, key)
		return ok, err
	}
}

func openUlule(*testing.B) decide {
	return decideUlule(ululememory.NewStore())
}

func decideUlule(store ulule.Store) decide {
	l := ulule.New(store, ulule.Rate{Period: window, Limit: most})
	return func(ctx context.Context, key string) (bool, error) {
		c, err := l.Get(ctx, key)
		return !c.Reached, err
	}
}

func openThrottled(b *testing.B) decide {
	store, err := memstore.NewCtx(0)
	if err != nil {
		b.Fatal(err)
	}
	return decideThrottled(b, store)
}

func decideThrottled(b *testing.B, store throttled.GCRAStoreCtx) decide {
	l := newThrottled(b, store)
	return func(ctx context.Context, key string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return !limited, err
	}
}

func newThrottled(b *testing.B, store throttled.GCRAStoreCtx) *throttled.GCRARateLimiterCtx {
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(1, refill), MaxBurst: most - 1,
	})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func openTollbooth(*testing.B) decide {
	l := newTollbooth()
	return func(_ context.Context, key string) (bool, error) {
		return tollbooth.LimitByKeys(l, []string{key}) == nil, nil
	}
}

func newTollbooth() *limiter.Limiter {
	l := tollbooth.NewLimiter(1/refill.Seconds(), &limiter.ExpirableOptions{DefaultExpirationTTL: window})
	return l.SetBurst(most)
}
