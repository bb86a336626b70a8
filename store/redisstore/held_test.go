package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func holding(key, id string, most, cost int64, limits ...store.Limit) store.Request {
	req := charge(key, cost, limits...)
	req.Hold = store.Hold{Max: most, ID: id, Lease: 10 * time.Second}
	return req
}

// A call that the hold refuses changes no limit, also if it brings another one.
func TestRefusedByTheHoldUnderAnotherLimit(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	s := newStore(t, client)
	limit, other := store.Per(10, time.Minute), store.Per(5, time.Hour)
	take(t, s, holding("key", "a", 1, 1, limit))
	before := client.Get(t.Context(), stateOf(s, "key")).Val()
	if d := take(t, s, holding("key", "b", 1, 1, other)); d.Reason != store.ReasonInFlight {
		t.Errorf("%+v", d)
	}
	if after := client.Get(t.Context(), stateOf(s, "key")).Val(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// A lease takes no call of its own. One EVALSHA takes units of any limits and a lease. One
// ZREM releases many leases. One EVALSHA renews many.
func TestCommandsOfCallsInFlight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	ctx := context.Background()
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprint("id ", i)
	}
	for name, limits := range map[string][]store.Limit{"one limit": {store.Per(1000, time.Hour)}, "every algorithm": every(1000, time.Hour)} {
		take(t, s, charge(name, 0, limits...)) // sends the script
		if _, err := s.Renew(ctx, "", name, time.Minute, "unknown"); err != nil {
			t.Fatal(err)
		}
		commands := server.CommandsDuring(func() {
			for _, id := range ids {
				if d := take(t, s, holding(name, id, 100, 1, limits...)); !d.Allowed {
					t.Fatalf("%+v", d)
				}
			}
			if lost, err := s.Renew(ctx, "", name, time.Minute, ids...); len(lost) > 0 || err != nil {
				t.Errorf("renewed: lost %v, %v", lost, err)
			}
			if err := s.Release(ctx, "", name, ids...); err != nil {
				t.Error(err)
			}
		})
		if commands["evalsha"] != 101 || commands["eval"] != 0 {
			t.Errorf("%s: 100 decisions and a renewal took %v", name, commands)
		}
		if commands["zrem"] != 1 {
			t.Errorf("%s: 100 leases were released by %v", name, commands)
		}
	}
	many := make([]string, 2*maxIDs+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if lost, err := s.Renew(ctx, "", "many", time.Second, many...); len(lost) != len(many) || err != nil {
		t.Errorf("renewed %d: lost %d, %v", len(many), len(lost), err)
	}
}

// A decision without a hold creates no leases.
func TestNoLeaseNoKey(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	take(t, s, charge("k", 1, store.Per(5, time.Hour)))
	take(t, s, holding("k", "a", 1, 6, store.Per(5, time.Hour)))
	if n := c.Exists(ctx, heldOf(s, "k")).Val(); n != 0 {
		t.Error("there are leases")
	}
	take(t, s, holding("k", "a", 1, 1, store.Per(5, time.Hour)))
	if n := c.ZCard(ctx, heldOf(s, "k")).Val(); n != 1 {
		t.Errorf("%d leases, want 1", n)
	}
	// The last release leaves no key behind.
	if err := s.Release(ctx, "", "k", "a"); err != nil {
		t.Fatal(err)
	}
	if n := c.Exists(ctx, heldOf(s, "k")).Val(); n != 0 {
		t.Error("a key without leases is left")
	}
}

// The leases' key lives as long as its longest lease, rounded up. Takes, renewals and a
// removed TTL don't change that.
func TestTTLOfLeases(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	l := store.Per(1000, time.Hour)
	key := heldOf(s, "k")
	want := func(when string, least time.Duration) {
		t.Helper()
		if ttl := c.PTTL(ctx, key).Val(); ttl <= least-time.Second || ttl > least+2*time.Millisecond {
			t.Errorf("%s: the TTL is %v, want %v", when, ttl, least)
		}
	}
	long, short := holding("k", "long", 10, 1, l), holding("k", "short", 10, 1, l)
	long.Hold.Lease, short.Hold.Lease = time.Minute, 1001*time.Microsecond
	take(t, s, long)
	want("taken", time.Minute)
	take(t, s, short)
	want("a shorter one taken", time.Minute)
	c.Persist(ctx, key)
	take(t, s, short)
	want("without a TTL, taken", time.Minute)
	c.Persist(ctx, key)
	if _, err := s.Renew(ctx, "", "k", time.Second, "unknown"); err != nil {
		t.Fatal(err)
	}
	want("without a TTL, renewed", time.Minute)
	if _, err := s.Renew(ctx, "", "k", 10*time.Second, "long"); err != nil {
		t.Fatal(err)
	}
	want("renewed for less", 10*time.Second)
	for i := range 100 {
		req := holding("k", fmt.Sprint(i), 200, 1, l)
		req.Hold.Lease = 20*time.Second + time.Duration(i*37)*time.Microsecond
		take(t, s, req)
		last, err := c.ZRangeWithScores(ctx, key, -1, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		// Both by the server's clock, in ms and in µs.
		if ends := ends(t, c, key).Microseconds() + 1000; ends < int64(last[0].Score) {
			t.Fatalf("the key ends %d µs before a lease", int64(last[0].Score)-ends)
		}
	}
}

// After a step back of the server's clock, no lease holds a key longer than a lease may
// last.
func TestClockStepsBackUnderLeases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, back := range []time.Duration{time.Second, 20 * time.Minute, 20 * 365 * 24 * time.Hour} {
		s, sleep := newStill(t, server.Client(), fmt.Sprint(back, ":"))
		sleep(30 * 365 * 24 * time.Hour)
		take(t, s, holding("k", "a", 1, 1, store.Per(1000, time.Second)))
		sleep(-back)
		d := take(t, s, holding("k", "b", 1, 0, store.Per(1000, time.Second)))
		if d.Reason != store.ReasonInFlight || d.RetryAfter > store.MaxLease {
			t.Errorf("%v back: %+v", back, d)
		}
		if lost, err := s.Renew(context.Background(), "", "k", 10*time.Second, "a"); len(lost) > 0 || err != nil {
			t.Errorf("%v back: lost %v, %v", back, lost, err)
		}
		sleep(10 * time.Second)
		if d := take(t, s, holding("k", "b", 1, 1, store.Per(1000, time.Second))); !d.Allowed {
			t.Errorf("%v back, and the lease over: %+v", back, d)
		}
	}
}

// A foreign value under the leases' key is a typed error, and nothing changes.
func TestForeignLeases(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	for name, plant := range map[string]func(key string){
		"string":   func(key string) { c.Set(ctx, key, "x", 0) },
		"infinite": func(key string) { c.Do(ctx, "zadd", key, "+inf", "a") },
		"huge":     func(key string) { c.Do(ctx, "zadd", key, "1e300", "a") },
	} {
		key := heldOf(s, name)
		plant(key)
		before := c.Dump(ctx, key).Val()
		for _, l := range every(5, time.Hour) {
			_, err := s.Take(ctx, holding(name, "id", 1, 1, l))
			if !errors.Is(err, ErrState) || errors.Is(err, weir.ErrLimited) {
				t.Errorf("%s under %v: got %v, want ErrState", name, l.Algorithm, err)
			}
		}
		if _, err := s.Renew(ctx, "", name, time.Second, "a"); !errors.Is(err, ErrState) {
			t.Errorf("%s: renewed: %v, want ErrState", name, err)
		}
		if state := stateOf(s, name); c.Dump(ctx, key).Val() != before || c.Exists(ctx, state).Val() != 0 {
			t.Errorf("%s: changed", name)
		}
		if err := s.Reset(ctx, "", name); err != nil {
			t.Fatal(err)
		}
		if d := take(t, s, holding(name, "id", 1, 1, store.Per(5, time.Hour))); !d.Allowed {
			t.Errorf("%s: after a reset: %+v", name, d)
		}
	}
}

// TestInFlightOnACluster: all leases of a key live in its slot.
func TestInFlightOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	for i := range 30 {
		key := fmt.Sprint("user ", i)
		for j := range 4 {
			if d := take(t, s, holding(key, fmt.Sprint(j), 3, 1, every(9, time.Hour)...)); d.Allowed != (j < 3) {
				t.Fatalf("%s: lease %d of 3: %+v", key, j, d)
			}
		}
		if err := s.Release(context.Background(), "", key, "1"); err != nil {
			t.Fatal(err)
		}
		if lost, err := s.Renew(context.Background(), "", key, time.Second, "0", "1"); fmt.Sprint(lost) != "[1]" || err != nil {
			t.Fatalf("%s: lost %v, %v", key, lost, err)
		}
	}
}

// TestAcquireOnRedis: calls of a process that exceed the bound in flight take one EVALSHA
// each, and fewer calls to release.
func TestAcquireOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute })
	s := newStore(t, c)
	l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(1_000_000)}, InFlight: 20})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	work := func(context.Context) error { time.Sleep(2 * time.Millisecond); return nil }
	if err := l.Do(ctx, "warm up", work); err != nil {
		t.Fatal(err)
	}
	const calls = 2000
	commands := server.CommandsDuring(func() {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for range calls / 100 {
					if err := l.Do(ctx, "k", work); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		waitForNone(t, c, s, "k")
	})
	t.Logf("%d calls took %v", calls, commands)
	if commands["evalsha"] != calls || commands["eval"] != 0 {
		t.Errorf("%d calls took %v, want one evalsha each", calls, commands)
	}
	if commands["zrem"] > calls*3/4 {
		t.Errorf("%d calls were released by %v", calls, commands)
	}
}

// leasesOf returns the number of leases of a key of the limiter "api".
func leasesOf(c *redis.Client, s *Store, key string) int64 {
	return c.ZCard(context.Background(), rediskey.Held(s.name("api", key))).Val()
}

// waitForNone waits until that limiter has no lease of a key.
func waitForNone(t *testing.T, c *redis.Client, s *Store, key string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); leasesOf(c, s, key) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d leases of %q are left", leasesOf(c, s, key), key)
			return
		}
	}
}
