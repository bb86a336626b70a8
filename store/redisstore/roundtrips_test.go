package redisstore

import (
	"fmt"
	"runtime"
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

// TestPoolSize: by default, shared round trips may use three quarters of a client's connections.
func TestPoolSize(t *testing.T) {
	t.Parallel()
	procs := runtime.GOMAXPROCS(0)
	for name, c := range map[string]struct {
		client redis.UniversalClient
		want   int
	}{
		"the default":         {redis.NewClient(&redis.Options{}), 10 * procs},
		"a size":              {redis.NewClient(&redis.Options{PoolSize: 8}), 8},
		"a maximum":           {redis.NewClient(&redis.Options{PoolSize: 8, MaxActiveConns: 6}), 6},
		"a cluster's default": {redis.NewClusterClient(&redis.ClusterOptions{}), 5 * procs},
		"a cluster":           {redis.NewClusterClient(&redis.ClusterOptions{PoolSize: 40}), 40},
		"a ring's default":    {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}}), 10 * procs},
		"a ring":              {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}, PoolSize: 7}), 7},
	} {
		if got := poolSize(c.client); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		_ = c.client.Close()
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
