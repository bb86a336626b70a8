package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestSilentServerHoldsUpItsOwnKeysOnly: calls wait for one of three servers. With one common
// queue, calls of the others would share their batches.
func TestSilentServerHoldsUpItsOwnKeysOnly(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	shards, addrs := map[string]*redistest.Server{}, map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		shards[name] = redistest.Start(t)
		addrs[name] = shards[name].Addr
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: addrs, HeartbeatFrequency: time.Hour, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = ring.Close() })
	for name, test := range map[string]struct {
		client redis.UniversalClient
		server func(key string) *redistest.Server
	}{
		"a cluster": {cluster.Client(func(o *redis.ClusterOptions) { o.ReadTimeout = time.Minute }), cluster.Node},
		"a ring": {ring, func(key string) *redistest.Server {
			shard, err := ring.GetShardClientForKey(key)
			if err != nil {
				t.Fatal(err)
			}
			for name, addr := range addrs {
				if addr == shard.Options().Addr {
					return shards[name]
				}
			}
			t.Fatalf("no shard at %s", shard.Options().Addr)
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.client)
			limit := store.Per(100, time.Hour)
			silent := test.server(stateOf(s, "key 0"))
			var there, elsewhere []string
			for i := range 60 {
				key := fmt.Sprint("key ", i)
				take(t, s, charge(key, 1, limit))
				if test.server(stateOf(s, key)) == silent {
					there = append(there, key)
				} else {
					elsewhere = append(elsewhere, key)
				}
			}
			silent.Stop()
			defer silent.Cont()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var held, free sync.WaitGroup
			for range 5 {
				for _, key := range there {
					held.Go(func() { take(t, s, charge(key, 1, limit)) })
				}
				for _, key := range elsewhere {
					free.Go(func() {
						if d, err := s.Take(ctx, charge(key, 1, limit)); err != nil || !d.Allowed {
							t.Errorf("%s: %+v, %v", key, d, err)
						}
					})
				}
			}
			free.Wait()
			silent.Cont()
			held.Wait()
			for _, key := range append(there, elsewhere...) {
				if d := take(t, s, charge(key, 0, limit)); d.Remaining != 94 {
					t.Errorf("%s: %d remaining, want 94", key, d.Remaining)
				}
			}
		})
	}
}

// TestQueuesOfServersThatAreGone are forgotten.
func TestQueuesOfServersThatAreGone(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{HeartbeatFrequency: time.Hour})
	t.Cleanup(func() { _ = ring.Close() })
	q := &newStore(t, ring).queues
	if q.of(t.Context(), keys.Key{Key: "key"}) != q.first {
		t.Error("without a server the queue should be the first")
	}
	var server *redis.Client
	q.server = func(context.Context, string) (*redis.Client, error) { return server, nil }
	for range maxQueues + 5 {
		server = new(redis.Client)
		if c := q.of(t.Context(), keys.Key{Key: "key"}); c == q.first || c != q.of(t.Context(), keys.Key{Key: "key"}) {
			t.Fatal("a server should have a queue of its own")
		}
	}
	n := 0
	q.others.Range(func(any, any) bool { n++; return true })
	if n != 5 {
		t.Errorf("%d queues, want the last 5", n)
	}
}
