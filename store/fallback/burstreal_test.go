package fallback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/redis/go-redis/v9"
)

// ways are outages of a real Redis, which loses its memory or keeps it.
var ways = map[string]func(*redistest.Server, *redistest.Proxy) (begin, end func()){
	"without memory": func(s *redistest.Server, _ *redistest.Proxy) (begin, end func()) { return s.Kill, s.Restart },
	"with memory": func(_ *redistest.Server, p *redistest.Proxy) (begin, end func()) {
		return func() { p.Set(redistest.Blackhole) }, func() { p.Set(redistest.Pass) }
	},
}

// outages runs f once for each way and algorithm, on a server of its own.
func outages(t *testing.T, rate int64, period time.Duration, f func(t *testing.T, s *fallback.Store, l store.Limit, begin, end func())) {
	for name, way := range ways {
		for _, l := range every(rate, period) {
			t.Run(fmt.Sprint(l.Algorithm, " ", name), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.NewProxy(t, server.Addr)
				// Redis charges a call twice if its answer comes too late. A busy machine
				// keeps this patience.
				const patience = 2 * time.Second
				client := server.Client(func(o *redis.Options) {
					o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
				}, configure(proxy.Addr, true))
				s := behind(t, client, fallback.Config{Probe: 100 * time.Millisecond, Budget: patience})
				begin, end := way(server, proxy)
				f(t, s, l, begin, func() {
					end()
					eventually(t, "Redis is not used", func() bool {
						return !take(t, s, charge("another", 1, store.Per(1000, time.Second))).Degraded
					})
				})
			})
		}
	}
}

// A key that is used up before or in an outage of a real Redis gets no fresh burst.
func TestNoSecondBurstOnARealServer(t *testing.T) {
	t.Parallel()
	// An hour's aligned window may end in a test. A year's hardly ever does.
	outages(t, 20, 365*24*time.Hour, func(t *testing.T, s *fallback.Store, l store.Limit, begin, end func()) {
		admitted := map[string]int{}
		call := func(key string, n int) {
			for range n {
				if take(t, s, charge(key, 1, l)).Allowed {
					admitted[key]++
				}
			}
		}
		call("before", 25)
		call("in between", 8)
		for range 2 {
			begin()
			call("before", 10)
			call("in between", 8)
			end()
			call("before", 10)
			call("in between", 1)
		}
		call("in between", 25)
		for key, n := range admitted {
			if n != 20 {
				t.Errorf("%q: %d admitted of 20", key, n)
			}
		}
	})
}

// After an outage longer than the window, there are no early refusals and no
// double budget.
func TestLongOutageOnARealServer(t *testing.T) {
	t.Parallel()
	outages(t, 20, 500*time.Millisecond, func(t *testing.T, s *fallback.Store, l store.Limit, begin, end func()) {
		for range 30 {
			take(t, s, charge("k", 1, l))
		}
		begin()
		for range 30 {
			take(t, s, charge("k", 1, l))
		}
		time.Sleep(1100 * time.Millisecond)
		end()
		admitted, start := 0, time.Now()
		for i := range 60 {
			d := take(t, s, charge("k", 1, l))
			if i < 20 && (!d.Allowed || d.Degraded) {
				t.Fatalf("call %d: %+v", i, d)
			}
			if d.Allowed {
				admitted++
			}
		}
		// Units that return during the loop are right. An aligned window may end.
		most := 21 + int(time.Since(start)*20/(500*time.Millisecond))
		if l.Algorithm == store.AlignedWindow || l.Algorithm == store.SlidingCounter {
			most += 20
		}
		if admitted > most {
			t.Errorf("%d admitted of 20 in %v", admitted, time.Since(start))
		}
	})
}
