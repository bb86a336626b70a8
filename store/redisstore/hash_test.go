package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// stored returns a key's value, whether it is a string or in a hash.
func stored(t testing.TB, c *redis.Client, key string) string {
	t.Helper()
	ctx := context.Background()
	if c.Type(ctx, key).Val() != "hash" {
		value, err := c.Get(ctx, key).Result()
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return value
	}
	for field, number := range c.HGetAll(ctx, key).Val() {
		return field + number
	}
	return ""
}

// TestStateChangesItsForm: a state that the rest of the script has written is
// gone on with in the common case, and the other way round.
func TestStateChangesItsForm(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	for name, limit := range map[string]store.Limit{"whole": store.Per(10, time.Hour), "with rests": store.Per(7, time.Hour)} {
		s, _ := newStill(t, c, name+":")
		want := limit.Max()
		for step, rest := range []bool{false, true, true, false, false} {
			want--
			d := store.Decision{}
			if req := charge("key", 1, limit); rest {
				d = whole(t, s, req)
			} else {
				d = take(t, s, req)
			}
			if !d.Allowed || d.Remaining != want {
				t.Fatalf("%s: step %d: %+v, want %d to remain", name, step, d, want)
			}
		}
		if other := take(t, s, charge("key", 1, store.Per(10*limit.Rate, time.Hour))); other.Remaining < 10*want-2 || other.Remaining >= 10*want {
			t.Errorf("%s: %d of 10 times as many remain, want the share used to carry over", name, other.Remaining)
		}
	}
}

// TestTTLOfBusyKeysOutlivesTheState: a key's time to live is not written with each unit.
// It is never shorter than its state's all the same.
func TestTTLOfBusyKeysOutlivesTheState(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	limits := []store.Limit{
		store.Per(1, 50*time.Millisecond).WithBurst(30),
		store.Per(1000, time.Second).WithBurst(1),
		store.Per(1, time.Minute).WithBurst(100),
		store.Per(3, 100*time.Millisecond).WithBurst(50),
	}
	lasting := long.Or(4*time.Second, time.Second)
	rng := rand.New(rand.NewPCG(1, 4))
	var slowest time.Duration
	for end := time.Now().Add(lasting); time.Now().Before(end); {
		var reqs []store.Request
		for i, limit := range limits {
			for range rng.IntN(4) {
				reqs = append(reqs, charge(fmt.Sprint("key", i), 1, limit))
			}
		}
		rng.Shuffle(len(reqs), func(i, j int) { reqs[i], reqs[j] = reqs[j], reqs[i] })
		if len(reqs) == 0 {
			continue
		}
		before := time.Now()
		ds, errs := onBoard(s, reqs)
		slowest = max(slowest, time.Since(before)) // The server counts a TTL from a script's start.
		for i, d := range ds {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			key := s.stateKey("", reqs[i].Charges[0].Key)
			ttl, left := c.PTTL(t.Context(), key).Val(), d.ResetAfter-time.Since(before)-slowest-2*time.Millisecond
			if left > 0 && ttl < left {
				t.Fatalf("%s: the TTL is %v, the state lives %v", key, ttl, left)
			}
		}
		time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond)
	}
}

// TestDecisionsWithoutHashes: a user who may not use some of what keeps the common
// case in hashes is slower, and limited as others are.
func TestDecisionsWithoutHashes(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"-hget", "-hincrby", "-hget -hincrby", "-hget -hincrby -hgetall"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			s, _ := withACL(t, aclOf(t)[0]+" "+denied)
			for name, limit := range map[string]store.Limit{"whole": store.Per(5, time.Hour), "with rests": store.Per(7, time.Hour)} {
				for i := range limit.Max() + 2 {
					var d store.Decision
					if i == 2 {
						d = whole(t, s, charge(name, 1, limit))
					} else {
						ds, errs := onBoard(s, []store.Request{charge(name, 1, limit), charge(name+" of another", 1, limit)})
						if errs[0] != nil {
							t.Fatal(errs[0])
						}
						d = ds[0]
					}
					if want := i < limit.Max(); d.Allowed != want {
						t.Errorf("%s: call %d: %+v", name, i+1, d)
					}
				}
			}
		})
	}
}

// TestDamagedHash: what somebody else did to a hash is not taken for a state.
func TestDamagedHash(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	limit := store.Per(5, time.Hour)
	field := spec(&limit) + "|"
	for _, number := range []string{"", "x", "-5x", "1e3", "0x10", "nan", "12.5", "99999999999999999999", strings.Repeat("9", 400)} {
		key := "key " + number
		c.HSet(t.Context(), s.stateKey("", key), field, number)
		ds, errs := onBoard(s, []store.Request{charge("good"+number, 1, limit), charge(key, 1, limit), charge("fine"+number, 1, limit)})
		if errs[0] != nil || errs[2] != nil || !ds[0].Allowed || !ds[2].Allowed {
			t.Errorf("%q: others: %v", number, errs)
		}
		if errs[1] == nil && ds[1].Remaining > limit.Max()-1 || errs[1] != nil && !errors.Is(errs[1], ErrState) {
			t.Errorf("%q: %+v, %v, want a decision or ErrState", number, ds[1], errs[1])
		}
	}
}

// TestTTLIsMended: a call that is alone gives a key the TTL that it has to have,
// whatever somebody did to that.
func TestTTLIsMended(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	state, req := s.stateKey("", "key"), charge("key", 1, store.Per(60, time.Hour))
	take(t, s, req)
	for name, spoil := range map[string]func() error{
		"none":      func() error { return c.Persist(t.Context(), state).Err() },
		"too short": func() error { return c.PExpire(t.Context(), state, 10*time.Second).Err() },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		d := take(t, s, req)
		if ttl := c.PTTL(t.Context(), state).Val(); ttl < d.ResetAfter-time.Second {
			t.Errorf("%s: a TTL of %v, the state lives %v", name, ttl, d.ResetAfter)
		}
	}
}

// TestExpiryOfAnEarlyClock: the hash of a clock that is close to its epoch has a
// TTL as well.
func TestExpiryOfAnEarlyClock(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, err := New(Config{Client: c, now: func() int64 { return startMicros + 300_000_000 }})
	if err != nil {
		t.Fatal(err)
	}
	limit := store.Per(1, 24*365*time.Hour).WithBurst(40)
	_, errs := onBoard(s, []store.Request{charge("a", 1, limit), charge("b", 1, limit)})
	for i, key := range []string{"a", "b"} {
		if ttl := c.PTTL(t.Context(), s.stateKey("", key)).Val(); errs[i] != nil || ttl <= 0 {
			t.Errorf("%s: %v, a TTL of %v", key, errs[i], ttl)
		}
	}
}
