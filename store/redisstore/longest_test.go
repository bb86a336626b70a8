package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// longest returns the longest of n script calls in µs, by the server's slow log, and their
// mean.
func longest(t *testing.T, c *redis.Client, n int, f func(i int)) (max, mean float64) {
	t.Helper()
	ctx := t.Context()
	c.Do(ctx, "slowlog", "reset")
	calls, before := evalTime(t, c)
	for i := range n {
		f(i)
	}
	after, us := evalTime(t, c)
	logs, err := c.SlowLogGet(ctx, 4096).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		if strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") && float64(l.Duration.Microseconds()) > max {
			max = float64(l.Duration.Microseconds())
		}
	}
	return max, (us - before) / (after - calls)
}

// TestLongestScript prints for how long a call of each script holds up the server, however
// much a log holds, and however many keys or waiters there are. Only corrections of early
// entries depend on it, by one entry of each 64.
func TestLongestScript(t *testing.T) {
	if os.Getenv("WEIR_COST") == "" {
		long.Only(t)
	}
	server := redistest.Start(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "4096")
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	window := store.Per(100_000, 24*time.Hour).By(store.SlidingWindow)
	fill := func(key string, limits ...store.Limit) (early store.Decision) {
		for i := range 50 {
			if i == 1 {
				early = reserve(t, s, key, 1, 0, limits...)
			}
			var reqs []store.Request
			for range 1000 {
				reqs = append(reqs, charge(key, 1, limits...))
			}
			for i := range reqs { // An entry each: calls under other limits stand between.
				reqs[i].Charges[0].Cost = int64(1 + i%2)
			}
			if _, errs := batch(s, reqs); errors.Join(errs...) != nil {
				t.Fatal(errors.Join(errs...))
			}
		}
		return early
	}
	many := func(limits ...store.Limit) func(i int) {
		return func(i int) {
			var reqs []store.Request
			for k := range 256 {
				reqs = append(reqs, charge(fmt.Sprint(len(limits), limits[0].Algorithm, k), 1, limits...))
			}
			if _, errs := batch(s, reqs); errors.Join(errs...) != nil {
				t.Fatal(errors.Join(errs...))
			}
		}
	}
	one := func(req store.Request) func(int) { return func(int) { single(t, s, req) } }
	booked := fill("log", window)
	state, log := namesOf(s, "log")
	entries := c.LLen(ctx, log).Val()
	value, copied := c.Get(ctx, state).Val(), c.Dump(ctx, log).Val()
	wide := store.Per(1_000_000, 24*time.Hour).By(store.SlidingWindow)
	again := func(f func()) func(int) {
		return func(int) {
			c.Set(ctx, state, value, time.Hour)
			c.RestoreReplace(ctx, log, time.Hour, copied)
			f()
		}
	}
	waiter := charge("waiters", 1, store.Per(1, time.Second))
	waiter.MaxWait, waiter.Cancelable = 24*time.Hour, true
	logged := charge("logged waiters", 1, store.Per(1, time.Second).By(store.SlidingWindow))
	logged.MaxWait, logged.Cancelable = 24*time.Hour, true
	mixed := charge("mixed waiters", 1, every(1, time.Second)...)
	mixed.MaxWait, mixed.Cancelable = 24*time.Hour, true
	for range 1000 {
		take(t, s, waiter)
		take(t, s, logged)
		take(t, s, mixed)
	}
	pause := func(req store.Request) func(int) {
		return func(i int) {
			if err := s.Brake(ctx, req.Charges, store.Brake{Pause: time.Duration(i+1) * time.Second}); err != nil {
				t.Fatal(err)
			}
		}
	}
	limits := every(1000, time.Hour)
	for _, test := range []struct {
		name string
		n    int
		f    func(i int)
	}{
		{fmt.Sprintf("a log of %d entries, cost 1", entries), 500, one(charge("log", 1, window))},
		{"cost 5000", 5, one(charge("log", 5000, window))},
		{"refused", 200, one(charge("log", 90_000, window))},
		{"a look", 200, one(charge("log", 0, window))},
		{"a wait for 90000 units", 20, again(func() { reserve(t, s, "log", 90_000, 48*time.Hour, window) })},
		{"a second sliding window is added", 20, again(func() { take(t, s, charge("log", 1, window, wide)) })},
		{"another sliding window takes its place", 20, again(func() { take(t, s, charge("log", 1, wide)) })},
		{"another one that is used up, refused", 20, again(func() { take(t, s, charge("log", 1, store.Per(7, 20*time.Hour).By(store.SlidingWindow))) })},
		{"a bucket takes its place", 20, again(func() { take(t, s, charge("log", 1, store.Per(1_000_000, 24*time.Hour))) })},
		{"the 1001st entry is settled", 20, again(func() { settleAt(t, s, booked, 3) })},
		{"the 1001st entry is cancelled", 20, again(func() { settleAt(t, s, booked, 0) })},
		{"a brake", 100, pause(charge("log", 0, window))},
		{"256 buckets", 50, many(store.Per(1000, time.Hour))},
		{"256 keys of 5 limits", 50, many(limits...)},
		{"256 sliding windows", 50, many(store.Per(1000, time.Hour).By(store.SlidingWindow))},
		{"256 keys of 2 sliding windows", 50, many(store.Per(1000, time.Hour).By(store.SlidingWindow), store.Per(2000, 2*time.Hour).By(store.SlidingWindow))},
		{"a brake over 1000 waiters", 100, pause(waiter)},
		{"a brake over 1000 logged waiters", 100, pause(logged)},
		{"a brake over 1000 waiters under each algorithm", 100, pause(mixed)},
		{"a wait behind 1000 waiters under each algorithm", 100, one(mixed)},
	} {
		test.f(0)
		most, mean := longest(t, c, test.n, test.f)
		t.Logf("%-50s longest %6.0f µs, mean %6.0f µs", test.name, most, mean)
		if bound := 20_000.0; most > bound {
			t.Errorf("%s: %v µs, want at most %v", test.name, most, bound)
		}
	}
}
