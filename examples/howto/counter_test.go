package howto

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
)

// Three programs share the counter on a Redis that denies scripts.
func TestCounter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	ctx := t.Context()
	if err := admin.Do(ctx, "ACL", "SETUSER", "default", "-@scripting").Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.Eval(ctx, "return 1", nil).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Fatalf("EVAL returned %v, want NOPERM", err)
	}
	var counters []*Counter
	for range 3 {
		c, err := NewCounter(server.Client())
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, c)
	}
	take := func() int64 {
		var admitted atomic.Int64
		var calls sync.WaitGroup
		for i := range 130 {
			calls.Go(func() {
				ok, after, err := counters[i%3].Take(ctx, "customer-1")
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					admitted.Add(1)
				case after <= 0 || after > time.Minute+time.Millisecond:
					t.Errorf("retry after %v, want the rest of a minute", after)
				}
			})
		}
		calls.Wait()
		return admitted.Load()
	}
	if n := take(); n != 100 {
		t.Errorf("%d of 130 calls were admitted, want 100", n)
	}
	if ok, _, err := counters[0].Take(ctx, "customer-2"); !ok || err != nil {
		t.Errorf("another customer: %v, %v, want a window of its own", ok, err)
	}
	endWindows(t, admin)
	if n := take(); n != 100 {
		t.Errorf("%d of 130 calls were admitted in the next window, want 100", n)
	}
}

// endWindows ends all windows now.
func endWindows(t *testing.T, client *redis.Client) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "weir:*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("keys %q, %v, want a window for each of two customers", keys, err)
	}
	for _, key := range keys {
		if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Minute {
			t.Errorf("%s lasts %v, want up to a minute", key, left)
		}
		if err := client.PExpire(t.Context(), key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCounterWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := &redis.Options{Addr: server.Addr}
	redisstore.Configure(opts)
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	c, err := NewCounter(client)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if ok, _, err := c.Take(t.Context(), "customer-1"); ok || !errors.Is(err, weir.ErrStore) {
		t.Errorf("%v, %v, want weir.ErrStore", ok, err)
	}
}
