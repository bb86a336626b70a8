package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// startMicros is 2000-01-01T00:00:00Z, where testing/synctest starts too.
const startMicros = 946684800_000_000

// newStore returns a store by the server's clock.
func newStore(t testing.TB, client redis.UniversalClient) *Store {
	t.Helper()
	s, err := New(Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newStill returns a store with a clock that stands still, and a function that moves it.
func newStill(t testing.TB, client redis.UniversalClient, prefix string) (*Store, func(time.Duration)) {
	t.Helper()
	var now atomic.Int64
	now.Store(startMicros)
	s, err := New(Config{Client: client, Prefix: prefix, RoundTrips: 3, now: now.Load}) // calls of a key stay in order
	if err != nil {
		t.Fatal(err)
	}
	return s, func(d time.Duration) { now.Add(d.Microseconds()) }
}

func miniClient(t testing.TB) (*miniredis.Miniredis, *redis.Client) {
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr(), PoolTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return m, c
}

func everyKeyHasATTL(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	it := c.Scan(ctx, 0, "*", 1000).Iterator()
	n := 0
	for it.Next(ctx) {
		n++
		if ttl := c.PTTL(ctx, it.Val()).Val(); ttl <= 0 && ttl != -2 { // It may have expired meanwhile.
			t.Errorf("key %.100q has a TTL of %v", it.Val(), ttl)
		}
		if len(it.Val()) > 400 {
			t.Errorf("key of %d bytes: %.100q", len(it.Val()), it.Val())
		}
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Error("there are no keys")
	}
	t.Logf("%d keys have a TTL", n)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, c := miniClient(t)
	for name, test := range map[string]struct {
		cfg   Config
		field string
	}{
		"no client":         {Config{}, "redisstore.Config.Client"},
		"nil client":        {Config{Client: (*redis.Client)(nil)}, "redisstore.Config.Client"},
		"nil cluster":       {Config{Client: (*redis.ClusterClient)(nil)}, "redisstore.Config.Client"},
		"brace in prefix":   {Config{Client: c, Prefix: "a{b"}, "redisstore.Config.Prefix"},
		"long prefix":       {Config{Client: c, Prefix: fmt.Sprintf("%065d", 1)}, "redisstore.Config.Prefix"},
		"newline in prefix": {Config{Client: c, Prefix: "a\n"}, "redisstore.Config.Prefix"},
		"negative trips":    {Config{Client: c, RoundTrips: -1}, "redisstore.Config.RoundTrips"},
		"257 round trips":   {Config{Client: c, RoundTrips: 257}, "redisstore.Config.RoundTrips"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			var ce *store.ConfigError
			if !errors.As(err, &ce) || ce.Field != test.field {
				t.Errorf("got %v, want a ConfigError of %s", err, test.field)
			}
		})
	}
}

// charge returns a request for cost units of key under limits.
func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}

func take(t testing.TB, s store.Store, req store.Request) store.Decision {
	t.Helper()
	d, err := s.Take(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// every returns one limit of each algorithm.
func every(rate int64, period time.Duration) []store.Limit {
	var all []store.Limit
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		all = append(all, store.Per(rate, period).By(a))
	}
	return all
}
