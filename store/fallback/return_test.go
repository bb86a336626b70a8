package fallback_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// asked is a primary that counts its failures.
type asked struct {
	*redisstore.Store
	failed atomic.Int64
}

func (a *asked) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := a.Store.Take(ctx, req)
	if err != nil {
		a.failed.Add(1)
	}
	return d, err
}

// outlast takes Redis away from a store for a time. It returns the time from Redis'
// return to the first call that Redis decides, and the number of failed probes in it.
func outlast(t testing.TB, outage, probe time.Duration, opts ...func(*redis.Options)) (took time.Duration, failed int64) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	primary, err := redisstore.New(redisstore.Config{Client: server.Client(append(opts, func(o *redis.Options) { o.Addr = proxy.Addr })...)})
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{Store: primary}
	s := open(t, fallback.Config{Primary: a, Probe: probe})
	req := charge("k", 1, store.Per(1000000, time.Hour))
	take(t, s, req)
	proxy.Set(redistest.Refuse)
	for end := time.Now().Add(outage); time.Now().Before(end) || s.State() == fallback.StateClosed; time.Sleep(time.Second / loadRate) {
		take(t, s, req)
	}
	proxy.Set(redistest.Pass)
	before := a.failed.Load()
	took = eventually(t, "Redis is not used", func() bool { return !take(t, s, req).Degraded })
	return took, a.failed.Load() - before
}

// The first probe after the return of Redis finds it, even after more failed probes than
// the client's pool is large. go-redis by itself would dial 1 s and 2 s after the first
// two.
func TestFirstProbeFindsRedis(t *testing.T) {
	took, failed := outlast(t, 1400*time.Millisecond, 100*time.Millisecond, redisstore.Configure, func(o *redis.Options) { o.PoolSize = 2 })
	t.Logf("used after %v", took)
	// One probe may have been under way.
	if failed > 1 {
		t.Errorf("%d probes failed after Redis was back", failed)
	}
}

// TestMeasureReturn prints the table of return times in docs/outages.md.
func TestMeasureReturn(t *testing.T) {
	if os.Getenv("WEIR_MEASURE") != "1" {
		t.Skip("WEIR_MEASURE=1 measures for about three minutes")
	}
	for _, outage := range []time.Duration{0, 5 * time.Second, 40 * time.Second} {
		for i, opts := range [][]func(*redis.Options){nil, {redisstore.Configure}} {
			var mu sync.Mutex
			var least, most, sum time.Duration
			var wg sync.WaitGroup
			const times = 12
			for n := range times {
				// Outages end at different times after the last probe.
				wg.Go(func() {
					took, _ := outlast(t, outage+time.Duration(n)*time.Second/times, time.Second, opts...)
					mu.Lock()
					defer mu.Unlock()
					if least == 0 || took < least {
						least = took
					}
					most, sum = max(most, took), sum+took
				})
			}
			wg.Wait()
			fmt.Printf("| %v to %v | %s | %v | %v | %v |\n", outage, outage+time.Second, clients[i], least.Round(10*time.Millisecond), (sum / times).Round(10*time.Millisecond), most.Round(10*time.Millisecond))
		}
	}
}
