package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func TestOneCommandPerDecision(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	fleet := []store.Limit{store.Per(250, 5*time.Second).By(store.SlidingWindow), store.Per(300, time.Minute).By(store.SlidingWindow)}
	for name, limits := range map[string][]store.Limit{
		"one limit": {store.Per(1000, time.Minute)}, "two windows": fleet, "every algorithm": every(500, time.Minute),
	} {
		take(t, s, charge(name, 1, limits...)) // The first call may send the script's text.
		commands := server.CommandsDuring(func() {
			for range 100 {
				take(t, s, charge(name, 1, limits...))
			}
		})
		if commands["evalsha"] != 100 || commands["eval"] != 0 {
			t.Errorf("%s: 100 decisions took %v", name, commands)
		}
	}
	booked := charge("booked", 1, store.Per(1000, time.Minute))
	booked.Cancelable = true
	take(t, s, booked)
	commands := server.CommandsDuring(func() {
		for range 100 {
			take(t, s, charge("booked", 1, store.Per(1000, time.Minute)))
		}
	})
	if commands["evalsha"] != 100 || commands["eval"] != 0 {
		t.Errorf("of a key with something that may be given back, 100 decisions took %v", commands)
	}
}

func TestRefusedCallLeavesRedisUntouched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	sets := [][]store.Limit{every(3, time.Hour)}
	for _, l := range every(3, time.Hour) {
		sets = append(sets, []store.Limit{l})
	}
	for i, limits := range sets {
		key := fmt.Sprint("key", i)
		for range 3 {
			take(t, s, charge(key, 1, limits...))
		}
		look := func() (stored string, lasts []time.Duration) {
			state, log := namesOf(s, key)
			return snapshot(c, s, key), []time.Duration{ends(t, c, state), ends(t, c, log)}
		}
		before, lasted := look()
		for range 5 {
			if d := take(t, s, charge(key, 1, limits...)); d.Allowed {
				t.Fatalf("%v: allowed", limits)
			}
			waiting := charge(key, 1, limits...)
			waiting.MaxWait, waiting.Cancelable = time.Microsecond, true
			take(t, s, waiting)
			take(t, s, charge(key, 0, limits...))
			take(t, s, charge(key, 4, limits...))
		}
		after, lasts := look()
		if after != before || (lasts[0]-lasted[0]).Abs() > 3*time.Millisecond || (lasts[1]-lasted[1]).Abs() > 3*time.Millisecond {
			t.Errorf("%v: refused calls changed\n%s, which ends %v, into\n%s, which ends %v", limits, before, lasted, after, lasts)
		}
	}
}

func TestTTLOutlivesTheState(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	limits := append(every(7, 13*time.Second), every(3, 1700*time.Microsecond)...)
	limits = append(limits, store.Per(1, 24*time.Hour), store.Per(1, 365*24*time.Hour), store.Per(1000, time.Second))
	for i, l := range limits {
		for _, wait := range []time.Duration{0, time.Hour} {
			key := fmt.Sprint("key", i, wait)
			state, log := namesOf(s, key)
			var slowest time.Duration
			for range 20 {
				req := charge(key, 1, l)
				req.MaxWait = wait
				before := time.Now()
				d := take(t, s, req)
				slowest = max(slowest, time.Since(before))
				for _, k := range []string{state, log} {
					if k == log && l.Algorithm != store.SlidingWindow {
						continue
					}
					ttl := c.PTTL(ctx, k).Val()
					// The PTTL comes after the decision. The server counts it from the start of a script, which
					// is before the script's TIME by at most the time of the slowest call. It counts whole
					// milliseconds.
					slack := time.Since(before) + slowest + 2*time.Millisecond
					if ttl == -1 || max(ttl, 0) < d.ResetAfter-slack {
						t.Errorf("%v %v: TTL of %s is %v, the state lives %v", l.Algorithm, l, k, ttl, d.ResetAfter)
					}
				}
			}
		}
	}
}

// TestKeyWithoutTTLIsRepaired: the next admitted call sets the TTL. A refusal writes nothing.
func TestKeyWithoutTTLIsRepaired(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	for _, l := range every(2, time.Hour) {
		for _, cancelable := range []bool{false, true} {
			key := fmt.Sprint(l.Algorithm, cancelable)
			state, log := namesOf(s, key)
			req := charge(key, 1, l)
			req.Cancelable = cancelable
			take(t, s, req)
			c.Persist(ctx, state)
			c.Persist(ctx, log)
			if d := take(t, s, req); !d.Allowed {
				t.Fatalf("%v: %+v", l, d)
			}
			for _, k := range []string{state, log} {
				if ttl := c.PTTL(ctx, k).Val(); ttl == -1 {
					t.Errorf("%v: %s still has no TTL", l.Algorithm, k)
				}
			}
		}
	}
}

func TestServerForgetsScriptsOrRestarts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	l := store.Per(10, time.Hour)
	for i := range int64(3) {
		if d := take(t, s, charge("key", 1, l)); d.Remaining != 9-i {
			t.Fatalf("call %d: %+v", i, d)
		}
		if err := c.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
	server.Restart()
	if d := take(t, s, charge("key", 1, l)); d.Remaining != 9 {
		t.Errorf("after a restart without memory: %+v", d)
	}
}

func TestNoAPIKeyIsFoundByScan(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	var limits []weir.Limit
	for _, l := range every(5, time.Hour) {
		limits = append(limits, weir.Limit(l.WithName(l.Algorithm.String())))
	}
	limiter, err := weir.New(weir.Config{Store: newStore(t, c), Limits: limits, Name: "api"})
	if err != nil {
		t.Fatal(err)
	}
	secret := "sk-live-4f9a8b7c6d"
	for _, f := range []weir.KeyFunc{weir.KeyAPIKey("X-API-Key", nil), weir.KeyAPIKey("X-API-Key", []byte("pepper"))} {
		key, err := f(request(t, "X-API-Key", secret))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := limiter.Allow(context.Background(), key); err != nil {
			t.Fatal(err)
		}
	}
	it := c.Scan(context.Background(), 0, "*", 100).Iterator()
	n := 0
	for it.Next(context.Background()) {
		n++
		if strings.Contains(it.Val(), secret) || strings.Contains(it.Val(), "4f9a") {
			t.Errorf("the API key is in %q", it.Val())
		}
	}
	if n != 4 {
		t.Errorf("%d keys, want a state and a log for each of two", n)
	}
	everyKeyHasATTL(t, c)
}

func TestClusterAndRing(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := cluster.Client()
	s := newStore(t, c)
	ctx := context.Background()
	l := store.Per(5, time.Hour)
	two := func(a, b string) store.Request {
		return store.Request{Charges: []store.Charge{{Key: a, Limit: l, Cost: 1}, {Key: b, Limit: l, Cost: 1}}}
	}
	waiting := two("a", "b")
	waiting.MaxWait = time.Second
	if _, err := s.Take(ctx, waiting); !errors.Is(err, ErrCrossSlot) || !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("waiting for keys of two slots: got %v, want ErrCrossSlot", err)
	}
	if d := take(t, s, charge("a", 0, l)); d.Remaining != 5 {
		t.Errorf("keys of two slots were charged: %+v", d)
	}
	for i := range 50 {
		key := fmt.Sprint("user ", i)
		for j := range int64(3) {
			if d := take(t, s, charge(key, 1, append(every(5, time.Hour), l)...)); !d.Allowed || d.Charge(0).Remaining != 4-j {
				t.Fatalf("%s: %+v", key, d)
			}
		}
		if i%10 == 0 {
			for _, node := range cluster.Nodes {
				node.Client().ScriptFlush(ctx)
			}
		}
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": redistest.Start(t).Addr, "b": redistest.Start(t).Addr}})
	defer ring.Close()
	rs := newStore(t, ring)
	if _, err := rs.Take(ctx, waiting); !errors.Is(err, ErrCrossSlot) {
		t.Errorf("waiting for two keys on a ring: got %v, want ErrCrossSlot", err)
	}
	for i := range 20 {
		key := fmt.Sprint("user ", i)
		for j := range int64(5) {
			if d := take(t, rs, charge(key, 1, l, l.By(store.SlidingWindow))); !d.Allowed || d.Remaining != 4-j {
				t.Fatalf("%s on a ring: %+v", key, d)
			}
		}
	}
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	s := newStore(t, sentinel.Client())
	l := store.Per(10, time.Hour)
	if d := take(t, s, charge("key", 1, l)); !d.Allowed {
		t.Fatalf("before the failover: %+v", d)
	}
	sentinel.Failover()
	deadline := time.Now().Add(20 * time.Second)
	for {
		d, err := s.Take(context.Background(), charge("key", 1, l))
		if err == nil {
			if !d.Allowed || d.Remaining > 9 {
				t.Errorf("after the failover: %+v", d)
			}
			return
		}
		if errors.Is(err, weir.ErrLimited) || time.Now().After(deadline) {
			t.Fatalf("after the failover: %v", err)
		}
	}
}

// TestNoErrorsOnOrdinaryPaths: no ordinary call causes an error reply. The server counts
// these for its operators.
func TestNoErrorsOnOrdinaryPaths(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ordinary := func() {
		for a := store.GCRA; a <= store.AlignedWindow; a++ {
			if err := useLimits(t.Context(), s, a); err != nil {
				t.Fatal(err)
			}
			limits := []store.Limit{store.Per(3, time.Minute).By(a)} // Without a watch, as a client's handshake may fail.
			for _, b := range []store.Brake{{Pause: time.Minute}, {Lift: true}} {
				brakeKey(t, s, limits, b)
			}
		}
		if err := hold(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("changed", time.Now().UnixNano())
		for _, l := range every(2, time.Hour) { // Also keys whose log is missing among KEYS.
			take(t, s, charge(key, 1, l))
			batch(s, []store.Request{charge(key, 1, l), charge("another", 1, l)})
			brakeKey(t, s, []store.Limit{l}, store.Brake{Pause: time.Microsecond})
		}
	}
	ordinary() // sends the texts
	if err := errors.Join(c.FlushAll(t.Context()).Err(), c.ConfigResetStat(t.Context()).Err()); err != nil {
		t.Fatal(err)
	}
	ordinary()
	for name, count := range server.Info("errorstats") {
		t.Errorf("%s: %s", name, count)
	}
	if n := server.Info("stats")["total_error_replies"]; n != "0" && n != "" {
		t.Errorf("%s replies were errors", n)
	}
}

// TestTTLIsNeverShortened: returned units shorten no TTL, as other callers rely on the time
// for which the state lasts.
func TestTTLIsNeverShortened(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, _ := newStill(t, c, "")
	for _, l := range every(5, time.Hour) {
		for name, back := range map[string]func(t *testing.T, d store.Decision){
			"cancel":      func(t *testing.T, d store.Decision) { settleAt(t, s, d, 0) },
			"settle":      func(t *testing.T, d store.Decision) { settleAt(t, s, d, 1) },
			"settle more": func(t *testing.T, d store.Decision) { settleAt(t, s, d, 50) },
			"lift": func(t *testing.T, _ store.Decision) {
				brakeKey(t, s, []store.Limit{l}, store.Brake{Pause: 20 * time.Hour})
				brakeKey(t, s, []store.Limit{l}, store.Brake{Lift: true})
			},
		} {
			for _, alone := range []bool{false, true} {
				key := "key"
				if err := s.Reset(t.Context(), "", key); err != nil {
					t.Fatal(err)
				}
				reserve(t, s, key, 1, 0, l)
				d := reserve(t, s, key, 4, 10*time.Hour, l)
				if !alone {
					reserve(t, s, key, 1, 10*time.Hour, l)
				}
				state, log := namesOf(s, key)
				lasts := func() time.Duration {
					end := ends(t, c, state)
					if l.Algorithm == store.SlidingWindow && c.Exists(t.Context(), log).Val() > 0 {
						end = min(end, ends(t, c, log))
					}
					return end
				}
				before := lasts()
				back(t, d)
				if after := lasts(); after < before-2*time.Millisecond {
					t.Errorf("%v, %s, alone %t: the TTL is %v shorter", l.Algorithm, name, alone, before-after)
				}
			}
		}
	}
}
