package plainstore

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newStore(t testing.TB, c redis.UniversalClient) *Store {
	t.Helper()
	s, err := New(Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// per returns a fixed window.
func per(n int64, period time.Duration) store.Limit {
	return store.Per(n, period).By(store.FixedWindow)
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

// counter returns the name of the counter of a key's i-th limit.
func counter(key string, i int) string { return rediskey.Counter(rediskey.State("weir:", "", key), i) }

// miniServer starts a miniredis and a store.
func miniServer(t testing.TB) (*miniredis.Miniredis, *redis.Client, *Store) {
	t.Helper()
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return m, c, newStore(t, c)
}

// afterPipeline is called after each pipeline.
type afterPipeline func()

func (afterPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

func (afterPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f afterPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer f()
		return next(ctx, cmds)
	}
}
