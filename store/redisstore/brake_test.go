package redisstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// member is a process that shares a key: a store with a client of its own.
type member struct {
	s    *Store
	l    *weir.Limiter
	mu   sync.Mutex
	went []time.Time
	wg   sync.WaitGroup
}

func newMember(t *testing.T, c redis.UniversalClient, limits ...weir.Limit) *member {
	t.Helper()
	s := newStore(t, c)
	l, err := weir.New(weir.Config{Store: s, Limits: limits, Name: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	return &member{s: s, l: l}
}

// send makes n calls, which wait for their slots.
func (m *member) send(t *testing.T, n int) {
	for range n {
		m.wg.Go(func() {
			if err := m.l.Wait(t.Context(), "key"); err != nil {
				t.Error(err)
				return
			}
			m.mu.Lock()
			m.went = append(m.went, time.Now())
			m.mu.Unlock()
		})
	}
}

func (m *member) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.went)
}

// between returns how many calls left in an interval.
func (m *member) between(from, to time.Time) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.went {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// clientsOf makes two clients of each kind of server.
func clientsOf(t *testing.T) map[string]func(t *testing.T) (a, b redis.UniversalClient) {
	return map[string]func(t *testing.T) (a, b redis.UniversalClient){
		"one server": func(t *testing.T) (a, b redis.UniversalClient) {
			server := redistest.Start(t)
			return server.Client(), server.Client()
		},
		"a cluster": func(t *testing.T) (a, b redis.UniversalClient) {
			cluster := redistest.StartCluster(t)
			return cluster.Client(), cluster.Client()
		},
		"a ring, which can't be watched": func(t *testing.T) (a, b redis.UniversalClient) {
			x, y := redistest.Start(t), redistest.Start(t)
			ring := func() *redis.Ring {
				c := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"x": x.Addr, "y": y.Addr}})
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			return ring(), ring()
		},
		"a user who may neither publish nor subscribe": func(t *testing.T) (a, b redis.UniversalClient) {
			server := redistest.Start(t)
			admin := server.Client()
			if err := admin.Do(t.Context(), "ACL", "SETUSER", "limited", "on", ">secret", "~weir:*", "resetchannels",
				"+@all", "-publish", "-subscribe", "-@admin").Err(); err != nil {
				t.Fatal(err)
			}
			user := func(o *redis.Options) { o.Username, o.Password = "limited", "secret" }
			return server.Client(user), server.Client(user)
		},
	}
}

// TestPauseStopsOtherProcesses: a pause of one process stops the waiters of another. After
// it they go on at the limit's pace.
func TestPauseStopsOtherProcesses(t *testing.T) {
	t.Parallel()
	for name, clients := range clientsOf(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca, cb := clients(t)
			limit := weir.PerSecond(20).WithBurst(1)
			a, b := newMember(t, ca, limit), newMember(t, cb, limit)
			late := watchLateness(t)
			b.send(t, 40) // They take two seconds.
			for b.count() < 5 {
				time.Sleep(5 * time.Millisecond)
			}
			const pause = time.Second
			if err := a.l.Pause(t.Context(), "key", pause); err != nil {
				t.Fatal(err)
			}
			set := time.Now()
			b.wg.Wait()
			slack := late.stop()
			// Calls under way at the pause, and a tolerance for a busy machine.
			if n := b.between(set.Add(100*time.Millisecond+slack), set.Add(pause-20*time.Millisecond)); n != 0 {
				t.Errorf("%d calls went during the pause", n)
			}
			if n := b.count(); n != 40 {
				t.Errorf("%d of 40 calls went", n)
			}
			for i, at := range b.went[1:] {
				if since := b.went[i]; at.Before(since) {
					t.Errorf("call %d went before the one before", i+1)
				}
			}
			// No herd: a quarter of a second has at most the rate's units and one.
			for from := set; from.Before(set.Add(pause + 2*time.Second)); from = from.Add(10 * time.Millisecond) {
				if n := b.between(from, from.Add(250*time.Millisecond)); n > 8+int(20*slack/time.Second) {
					t.Errorf("%d calls within 250 ms, %v after the pause was set", n, from.Sub(set))
					break
				}
			}
		})
	}
}

// TestPauseCostsNoCall: each decision on a key without a pause takes one command, also for
// waiters.
func TestPauseCostsNoCall(t *testing.T) {
	server := redistest.Start(t)
	m := newMember(t, server.Client(), weir.PerSecond(40).WithBurst(1))
	m.send(t, 2)
	m.wg.Wait()
	hears(t, m.s)
	commands := server.CommandsDuring(func() {
		m.send(t, 40)
		m.wg.Wait()
	})
	// There is one more if the watch began after the first booking.
	if commands["evalsha"] < 40 || commands["evalsha"] > 41 {
		t.Errorf("40 calls that waited took %v", commands)
	}
}

// TestBrakeKeepsOtherLimits: a pause changes no units of a key whose limits differ from call
// to call.
func TestBrakeKeepsOtherLimits(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	ctx := context.Background()
	plan := store.Per(100, time.Hour)
	take(t, s, charge("key", 30, plan))
	if err := s.Brake(ctx, charge("key", 0, store.Per(1, time.Second)).Charges, store.Brake{Pause: time.Minute}); err != nil {
		t.Fatal(err)
	}
	d := take(t, s, charge("key", 1, plan))
	if d.Allowed || d.Reason != store.ReasonPaused {
		t.Errorf("paused: %+v", d)
	}
	if err := s.Brake(ctx, charge("key", 0, store.Per(1, time.Second)).Charges, store.Brake{Lift: true}); err != nil {
		t.Fatal(err)
	}
	if d := take(t, s, charge("key", 1, plan)); !d.Allowed || d.Remaining != 69 {
		t.Errorf("lifted: %+v", d)
	}
}

// TestBrakeKeepsLimitsWithoutATTL: the end of a brake does not drop a state whose TTL another
// program removed.
func TestBrakeKeepsLimitsWithoutATTL(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s := newStore(t, client)
	ctx := context.Background()
	plan := store.Per(100, time.Hour)
	take(t, s, charge("key", 30, plan))
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q, %v", keys, err)
	}
	if err := client.Persist(ctx, keys[0]).Err(); err != nil {
		t.Fatal(err)
	}
	for _, b := range []store.Brake{{Pause: time.Millisecond}, {Pause: time.Minute}, {Lift: true}} {
		if err := s.Brake(ctx, charge("key", 0, store.Per(1, time.Second)).Charges, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if d := take(t, s, charge("key", 1, plan)); !d.Allowed || d.Remaining != 69 {
		t.Errorf("lifted: %+v", d)
	}
	if ttl := client.PTTL(ctx, keys[0]).Val(); ttl <= 0 {
		t.Errorf("the TTL is %v after a take", ttl)
	}
}

// TestBrakeHasATTL: the pause of an unused key leaves nothing behind at its end.
func TestBrakeHasATTL(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	for name, b := range map[string]store.Brake{
		"pause": {Pause: time.Minute},
		"cut":   {Cut: store.Cut{Unit: time.Second, Recovery: 2 * time.Minute}},
		"gap":   {Tell: true, Gap: time.Second, GapFor: time.Minute},
	} {
		charges := charge(name, 0, store.Per(10, time.Second)).Charges
		if err := s.Brake(ctx, charges, b); err != nil {
			t.Fatal(err)
		}
		key := stateOf(s, name)
		if ttl := c.PTTL(ctx, key).Val(); ttl < 59*time.Second || ttl > 61*time.Second {
			t.Errorf("%s: a TTL of %v", name, ttl)
		}
		if err := s.Brake(ctx, charges, store.Brake{Lift: true}); err != nil {
			t.Fatal(err)
		}
		if ttl := c.PTTL(ctx, key).Val(); ttl < 50*time.Second || ttl > 61*time.Second {
			t.Errorf("%s, lifted: a TTL of %v, want the one before", name, ttl)
		}
	}
}
