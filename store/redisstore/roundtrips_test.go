package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestRoundTrips: RoundTrips calls leave at once. The rest leave together.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	const calls = 10
	for _, tc := range []struct {
		name              string
		trips             int
		atOnce, afterward int64
	}{
		{"one", 1, 1, 1},
		{"eight", 8, 8, 1},
		{"more than there are calls", maxRoundTrips, calls, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, c := miniClient(t)
			g := new(gate)
			c.AddHook(g)
			s, err := New(Config{Client: c, RoundTrips: tc.trips})
			if err != nil {
				t.Fatal(err)
			}
			take(t, s, charge("first", 1, store.Per(5, time.Hour)))
			g.commands.Store(0)
			_, open := g.shut()
			defer open()
			var reqs []store.Request
			for i := range calls {
				reqs = append(reqs, charge(fmt.Sprint("key", i), 1, store.Per(5, time.Hour)))
			}
			all := startAll(t, s, reqs...)
			g.hold(t, tc.atOnce)
			open()
			for _, st := range all {
				<-st.Done()
				if d, done, err := st.Decision(); err != nil || !done || !d.Allowed {
					t.Errorf("%+v, %t, %v", d, done, err)
				}
			}
			if n := g.commands.Load(); n != tc.atOnce+tc.afterward {
				t.Errorf("%d commands, want %d", n, tc.atOnce+tc.afterward)
			}
		})
	}
}

// TestSmallPool: calls share round trips, so those of a store alone never wait for a
// connection, however few there are.
func TestSmallPool(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for size := 1; size <= 4; size++ {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, server.Addr)
			client := redis.NewClient(&redis.Options{Addr: proxy.Addr, PoolSize: size, PoolTimeout: time.Millisecond})
			t.Cleanup(func() { _ = client.Close() })
			s, err := New(Config{Client: client, Prefix: fmt.Sprintf("pool%d:", size)})
			if err != nil {
				t.Fatal(err)
			}
			take(t, s, charge("first", 1, store.Per(5, time.Hour)))
			proxy.Set(redistest.Delay(20 * time.Millisecond))
			var reqs []store.Request
			for i := range 10 {
				reqs = append(reqs, charge(fmt.Sprint("key", i), 1, store.Per(5, time.Hour)))
			}
			for _, st := range startAll(t, s, reqs...) {
				<-st.Done()
				if d, done, err := st.Decision(); err != nil || !done || !d.Allowed {
					t.Errorf("%+v, %t, %v", d, done, err)
				}
			}
		})
	}
}
