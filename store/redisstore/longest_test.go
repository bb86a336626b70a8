package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// longest returns the longest of n script calls in µs, by the server's slow log, their mean,
// and the number of commands in each.
func longest(t *testing.T, server *redistest.Server, c *redis.Client, n int, f func(i int)) (max, mean float64, commands int) {
	t.Helper()
	ctx := t.Context()
	c.Do(ctx, "slowlog", "reset")
	calls, before := evalTime(t, c)
	for name, n := range server.CommandsDuring(func() {
		for i := range n {
			f(i)
		}
	}) {
		switch name {
		case "evalsha", "eval", "info", "restore":
		default:
			commands += n
		}
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
	return max, (us - before) / (after - calls), commands / int(after-calls)
}

// TestLongestScript checks the number of commands that a call of each script sends. It does
// not depend on the size of a log, or the number of keys or waiters. This bounds the time for
// which a script holds up the server. Only corrections of early entries depend on the log, by
// one entry of each 256. The test logs the times.
func TestLongestScript(t *testing.T) {
	long.Only(t)
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
	nested := charge("waiters under two windows", 1, store.Per(5, time.Minute).By(store.SlidingWindow), store.Per(1_000_000, time.Hour).By(store.SlidingWindow))
	nested.MaxWait, nested.Cancelable = 24*time.Hour, true
	for range 1000 {
		take(t, s, waiter)
		take(t, s, nested)
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
		name     string
		n        int
		f        func(i int)
		commands int // at most, in one call
	}{
		{fmt.Sprintf("a log of %d entries, cost 1", entries), 500, one(charge("log", 1, window)), 16},
		{"cost 5000", 5, one(charge("log", 5000, window)), 32},
		{"refused", 200, one(charge("log", 90_000, window)), 100},
		{"a look", 200, one(charge("log", 0, window)), 16},
		{"a wait for 90000 units", 20, again(func() { reserve(t, s, "log", 90_000, 48*time.Hour, window) }), 128},
		{"a second sliding window is added", 20, again(func() { take(t, s, charge("log", 1, window, wide)) }), 32},
		{"another sliding window takes its place", 20, again(func() { take(t, s, charge("log", 1, wide)) }), 32},
		{"another one that is used up, refused", 20, again(func() { take(t, s, charge("log", 1, store.Per(7, 20*time.Hour).By(store.SlidingWindow))) }), 128},
		{"a bucket takes its place", 20, again(func() { take(t, s, charge("log", 1, store.Per(1_000_000, 24*time.Hour))) }), 16},
		{"the 1001st entry is settled", 20, again(func() { settleAt(t, s, booked, 3) }), 512},
		{"the 1001st entry is cancelled", 20, again(func() { settleAt(t, s, booked, 0) }), 512},
		{"a brake", 100, pause(charge("log", 0, window)), 16},
		{"256 buckets", 50, many(store.Per(1000, time.Hour)), 300},
		{"256 keys of 5 limits", 50, many(limits...), 128},
		{"256 sliding windows", 50, many(store.Per(1000, time.Hour).By(store.SlidingWindow)), 200},
		{"256 keys of 2 sliding windows", 50, many(store.Per(1000, time.Hour).By(store.SlidingWindow), store.Per(2000, 2*time.Hour).By(store.SlidingWindow)), 160},
		{"a brake over 1000 waiters", 100, pause(waiter), 16},
		{"a brake over 1000 logged waiters", 100, pause(logged), 16},
		{"a brake over 1000 waiters under each algorithm", 100, pause(mixed), 16},
		{"a wait behind 1000 waiters under each algorithm", 100, one(mixed), 48},
		{"a wait behind 1000 waiters under two sliding windows", 100, one(nested), 48},
	} {
		test.f(0)
		most, mean, commands := longest(t, server, c, test.n, test.f)
		t.Logf("%-50s longest %6.0f µs, mean %6.0f µs, %d commands", test.name, most, mean, commands)
		if commands > test.commands {
			t.Errorf("%s: %d commands, want at most %d", test.name, commands, test.commands)
		}
	}
}
