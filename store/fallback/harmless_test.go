package fallback_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// A real server too has errors that are no outage, and leave the breaker alone: refusals,
// wrong requests, contexts that end at any moment, and a key with a foreign value.
func TestHarmlessOnARealServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	proxy.Set(redistest.Delay(2 * time.Millisecond))
	// A busy machine is no outage either.
	const patience = 5 * time.Second
	c := server.Client(func(o *redis.Options) {
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	}, configure(proxy.Addr, true))
	s := behind(t, c, fallback.Config{Budget: patience})
	take(t, s, charge("warm", 1, store.Per(10, time.Hour)))
	if err := c.LPush(context.Background(), "weir:{:foreign}", "x").Err(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(int(8*time.Millisecond))))
			defer cancel()
			if _, err := s.Take(ctx, charge("ended", 1, store.Per(10, time.Hour))); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		if d := take(t, s, charge("refused", 1, store.Per(10, time.Hour))); d.Degraded {
			_, err := s.Away()
			t.Fatalf("%+v; away: %v", d, err)
		}
		if _, err := s.Take(context.Background(), charge("wrong", -1, store.Per(10, time.Hour))); !errors.Is(err, store.ErrConfig) {
			t.Errorf("a wrong request: %v", err)
		}
	}
	wg.Wait()
	primary, err := redisstore.New(redisstore.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := primary.Take(context.Background(), charge("foreign", 1, store.Per(10, time.Hour))); !errors.Is(err, redisstore.ErrState) {
		t.Fatalf("the planted key: %v", err)
	}
	for range 10 {
		if d := take(t, s, charge("foreign", 1, store.Per(100, time.Hour))); !d.Degraded || !d.Allowed {
			t.Errorf("a foreign key: %+v", d)
		}
	}
	time.Sleep(100 * time.Millisecond)
	if s.State() != fallback.StateClosed {
		t.Errorf("the breaker is %v", s.State())
	}
}
