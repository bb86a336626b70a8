package plainstore

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
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

// miniServer starts a miniredis, with INCREX if incrEx is true, and a store.
func miniServer(t testing.TB, incrEx bool) (*miniredis.Miniredis, *redis.Client, *Store) {
	t.Helper()
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	s := newStore(t, c)
	if incrEx {
		addIncrEx(t, m)
		s.incrEx.Store(present) // The COMMAND of miniredis lists other commands.
	}
	return m, c, s
}

// withAndWithoutIncrEx runs a test on a miniredis of each kind.
func withAndWithoutIncrEx(t *testing.T, test func(t *testing.T, m *miniredis.Miniredis, c *redis.Client, s *Store)) {
	for name, incrEx := range map[string]bool{"INCRBY": false, "INCREX": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, c, s := miniServer(t, incrEx)
			test(t, m, c, s)
		})
	}
}

// addIncrEx adds the options of INCREX that weir uses to miniredis.
func addIncrEx(t testing.TB, m *miniredis.Miniredis) {
	var one sync.Mutex // Redis carries out one command at a time.
	err := m.Server().Register("INCREX", func(peer *server.Peer, _ string, args []string) {
		one.Lock()
		defer one.Unlock()
		if len(args) != 8 || args[1] != "byint" || args[3] != "ubound" || args[5] != "px" || args[7] != "enx" {
			peer.WriteError("ERR syntax error")
			return
		}
		key, value := args[0], int64(0)
		if m.Exists(key) {
			text, err := m.Get(key)
			if err != nil {
				peer.WriteError("WRONGTYPE Operation against a key holding the wrong kind of value")
				return
			}
			if value, err = strconv.ParseInt(text, 10, 64); err != nil {
				peer.WriteError("ERR value is not an integer or out of range")
				return
			}
		}
		number := func(i int) int64 { n, _ := strconv.ParseInt(args[i], 10, 64); return n }
		add := number(2)
		if value+add > number(4) {
			add = 0
		} else if _, err := m.Incr(key, int(add)); err == nil && m.TTL(key) == 0 {
			m.SetTTL(key, time.Duration(number(6))*time.Millisecond)
		}
		peer.WriteLen(2)
		peer.WriteInt(int(value + add))
		peer.WriteInt(int(add))
	})
	if err != nil {
		t.Fatal(err)
	}
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
