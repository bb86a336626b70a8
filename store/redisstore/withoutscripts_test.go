package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func newPlain(t testing.TB, c redis.UniversalClient) *Store {
	t.Helper()
	s, err := New(Config{Client: c, WithoutScripts: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withIncrEx teaches miniredis the part of INCREX that weir uses.
func withIncrEx(t testing.TB, m *miniredis.Miniredis) {
	var one sync.Mutex // command at a time, as in Redis
	err := m.Server().Register("INCREX", func(peer *server.Peer, _ string, args []string) {
		one.Lock()
		defer one.Unlock()
		opts := map[string]int64{}
		enx := false
		for i := 1; i < len(args); i++ {
			if args[i] == "enx" {
				enx = true
				continue
			}
			n, err := strconv.ParseInt(args[i+1], 10, 64)
			if err != nil {
				peer.WriteError("ERR value is not an integer")
				return
			}
			opts[args[i]] = n
			i++
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
		add := opts["byint"]
		low, bounded := opts["lbound"]
		if high, ok := opts["ubound"]; ok && value+add > high || bounded && value+add < low {
			add = 0
		}
		if add != 0 {
			m.Incr(key, int(add))
			if px, ok := opts["px"]; ok && (!enx || m.TTL(key) == 0) {
				m.SetTTL(key, time.Duration(px)*time.Millisecond)
			}
		}
		peer.WriteLen(2)
		peer.WriteInt(int(value + add))
		peer.WriteInt(int(add))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(t *testing.T) *redis.Client{
		"a redis-server": func(t *testing.T) *redis.Client { return redistest.Start(t).Client() },
		"miniredis": func(t *testing.T) *redis.Client {
			_, c := miniClient(t)
			return c
		},
		"a server with INCREX": func(t *testing.T) *redis.Client {
			m, c := miniClient(t)
			withIncrEx(t, m)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			s := newPlain(t, c)
			ctx := context.Background()
			ten, three := store.Per(10, time.Minute).By(store.FixedWindow), store.Per(3, time.Hour).By(store.FixedWindow)

			t.Run("counts and refuses", func(t *testing.T) {
				for i := range int64(10) {
					if d := take(t, s, charge("one", 1, ten)); !d.Allowed || d.Remaining != 9-i || d.ResetAfter <= 0 || d.ResetAfter > time.Minute {
						t.Fatalf("call %d: %+v", i, d)
					}
				}
				d := take(t, s, charge("one", 1, ten))
				if d.Allowed || d.Reason != store.ReasonLimited || d.RetryAfter <= 0 || d.RetryAfter > time.Minute {
					t.Errorf("eleventh of ten: %+v", d)
				}
			})
			t.Run("a refused cost takes nothing", func(t *testing.T) {
				take(t, s, charge("cost", 8, ten))
				for range 3 {
					if d := take(t, s, charge("cost", 5, ten)); d.Allowed || d.Remaining != 2 {
						t.Fatalf("five of two: %+v", d)
					}
				}
				if d := take(t, s, charge("cost", 2, ten)); !d.Allowed || d.Remaining != 0 {
					t.Errorf("two of two: %+v", d)
				}
			})
			t.Run("all or nothing", func(t *testing.T) {
				for range 3 {
					take(t, s, charge("both", 1, ten, three))
				}
				for range 3 {
					if d := take(t, s, charge("both", 1, ten, three)); d.Allowed || d.Limit != three || d.Charge(0).Remaining != 7 {
						t.Fatalf("refused by one of two: %+v", d)
					}
				}
				if d := take(t, s, charge("both", 0, ten, three)); d.Charge(0).Remaining != 7 || d.Charge(1).Remaining != 0 {
					t.Errorf("after refusals: %+v", d)
				}
			})
			t.Run("concurrent calls", func(t *testing.T) {
				var admitted atomic.Int64
				var wg sync.WaitGroup
				l := store.Per(100, time.Hour).By(store.FixedWindow)
				for range 300 {
					wg.Go(func() {
						if d, err := s.Take(ctx, charge("many", 1, l)); err == nil && d.Allowed {
							admitted.Add(1)
						}
					})
				}
				wg.Wait()
				if admitted.Load() != 100 {
					t.Errorf("%d of 300 admitted, want 100", admitted.Load())
				}
			})
			t.Run("never fits, peek, reset", func(t *testing.T) {
				if d := take(t, s, charge("never", 11, ten)); d.Allowed || d.Reason != store.ReasonNeverFits || d.Remaining != 10 {
					t.Errorf("eleven of ten: %+v", d)
				}
				take(t, s, charge("reset", 10, ten))
				if err := s.Reset(ctx, "", "reset"); err != nil {
					t.Fatal(err)
				}
				if d := take(t, s, charge("reset", 0, ten)); d.Remaining != 10 {
					t.Errorf("after a reset: %+v", d)
				}
			})
			t.Run("what needs scripts says so", func(t *testing.T) {
				wait := charge("k", 1, ten)
				wait.MaxWait = time.Second
				other := charge("k", 1, ten)
				other.Charges = append(other.Charges, store.Charge{Key: "l", Limit: ten, Cost: 1})
				back := charge("k", 1, ten)
				back.Cancelable = true
				reqs := []store.Request{wait, other, back}
				for _, l := range every(5, time.Minute) {
					if l.Algorithm != store.FixedWindow {
						reqs = append(reqs, charge("k", 1, l))
					}
				}
				for _, req := range reqs {
					if d, err := s.Take(ctx, req); !errors.Is(err, ErrNeedsScripts) {
						t.Errorf("%+v: %+v, %v", req, d, err)
					}
				}
			})
			t.Run("a window without an end gets one", func(t *testing.T) {
				key := s.plainKey("", "endless", 0)
				c.Set(ctx, key, 10, 0)
				if d := take(t, s, charge("endless", 1, ten)); d.Allowed {
					t.Fatalf("%+v", d)
				}
				if ttl := c.PTTL(ctx, key).Val(); ttl <= 0 || ttl > time.Minute {
					t.Errorf("TTL %v", ttl)
				}
			})
			t.Run("a shorter window ends sooner", func(t *testing.T) {
				take(t, s, charge("shorter", 10, store.Per(10, 24*time.Hour).By(store.FixedWindow)))
				if d := take(t, s, charge("shorter", 1, ten)); d.Allowed || d.RetryAfter > time.Minute {
					t.Errorf("%+v", d)
				}
			})
			t.Run("another type is a typed error", func(t *testing.T) {
				c.HSet(ctx, s.plainKey("", "hash", 0), "a", "b")
				c.Expire(ctx, s.plainKey("", "hash", 0), time.Minute)
				if _, err := s.Take(ctx, charge("hash", 1, ten)); !errors.Is(err, ErrState) {
					t.Errorf("a hash: got %v, want ErrState", err)
				}
				c.Set(ctx, s.plainKey("", "text", 0), "hello", time.Minute)
				if _, err := s.Take(ctx, charge("text", 1, ten)); !errors.Is(err, ErrState) {
					t.Errorf("a text: got %v, want ErrState", err)
				}
			})
			everyKeyHasATTL(t, c)
		})
	}
}

func TestWithoutScriptsWindowEnds(t *testing.T) {
	t.Parallel()
	for _, incrEx := range []bool{false, true} {
		t.Run(fmt.Sprint("INCREX ", incrEx), func(t *testing.T) {
			m, c := miniClient(t)
			if incrEx {
				withIncrEx(t, m)
			}
			s := newPlain(t, c)
			l := store.Per(2, 1500*time.Millisecond).By(store.FixedWindow)
			for range 3 {
				take(t, s, charge("key", 2, l))
				d := take(t, s, charge("key", 1, l))
				if d.Allowed {
					t.Fatalf("third of two: %+v", d)
				}
				m.FastForward(d.RetryAfter - time.Millisecond)
				if d := take(t, s, charge("key", 1, l)); d.Allowed {
					t.Errorf("before the window's end: %+v", d)
				}
				m.FastForward(time.Millisecond)
			}
		})
	}
}

// A window begins with the first unit that is counted in it: neither with a refused
// call, nor with one that costs nothing of it, nor when what is taken back comes too
// late.
func TestWithoutScriptsWindowBegins(t *testing.T) {
	t.Parallel()
	for _, incrEx := range []bool{false, true} {
		t.Run(fmt.Sprint("INCREX ", incrEx), func(t *testing.T) {
			m, c := miniClient(t)
			if incrEx {
				withIncrEx(t, m)
			}
			s := newPlain(t, c)
			one, two := store.Per(1, time.Minute).By(store.FixedWindow), store.Per(2, 10*time.Second).By(store.FixedWindow)
			free := func(key string) store.Request {
				req := charge(key, 1, one, two)
				req.Charges[0].Cost = 0
				return req
			}
			begins := func(t *testing.T, key string) {
				t.Helper()
				if d := take(t, s, charge(key, 0, one, two)); d.Charge(1).Remaining != 2 || d.Charge(1).ResetAfter != 0 {
					t.Errorf("before the first unit: %+v", d.Charges)
				}
				m.FastForward(7 * time.Second)
				if d := take(t, s, free(key)); !d.Allowed || d.Charge(1).Remaining != 1 || d.Charge(1).ResetAfter != 10*time.Second {
					t.Errorf("the first unit: %+v", d)
				}
				m.FastForward(4 * time.Second)
				if d := take(t, s, free(key)); !d.Allowed || d.Charge(1).Remaining != 0 || d.Charge(1).ResetAfter != 6*time.Second {
					t.Errorf("4 s later: %+v", d.Charges)
				}
			}
			t.Run("not with a refused call", func(t *testing.T) {
				take(t, s, charge("refused", 1, one, two))
				m.FastForward(11 * time.Second)
				for range 2 {
					if take(t, s, charge("refused", 1, one, two)).Allowed {
						t.Fatal("allowed")
					}
				}
				begins(t, "refused")
			})
			t.Run("not with what costs nothing", func(t *testing.T) {
				req := charge("free", 1, one, two)
				req.Charges[1].Cost = 0
				if d := take(t, s, req); !d.Allowed || d.Charge(1).ResetAfter != 0 {
					t.Fatalf("%+v", d)
				}
				if m.Exists(s.plainKey("", "free", 1)) {
					t.Error("there is a window")
				}
				begins(t, "free")
			})
			t.Run("not with what comes back too late", func(t *testing.T) {
				take(t, s, charge("late", 1, one, two))
				var late sync.Once
				c.AddHook(afterPipeline(func() { late.Do(func() { m.FastForward(11 * time.Second) }) }))
				if take(t, s, charge("late", 1, one, two)).Allowed {
					t.Fatal("allowed")
				}
				begins(t, "late")
			})
			t.Run("nothing refuses what costs nothing", func(t *testing.T) {
				take(t, s, charge("full", 1, one, two))
				if d := take(t, s, free("full")); !d.Allowed || d.Charge(0).Remaining != 0 || d.Charge(0).ResetAfter != time.Minute {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// What a refused call has counted is taken back though its context has ended.
func TestWithoutScriptsContextEnds(t *testing.T) {
	t.Parallel()
	for _, incrEx := range []bool{false, true} {
		t.Run(fmt.Sprint("INCREX ", incrEx), func(t *testing.T) {
			m, c := miniClient(t)
			if incrEx {
				withIncrEx(t, m)
			}
			s := newPlain(t, c)
			one, hundred := store.Per(1, time.Minute).By(store.FixedWindow), store.Per(100, time.Hour).By(store.FixedWindow)
			take(t, s, charge("k", 1, one, hundred))
			var counted atomic.Pointer[context.CancelFunc]
			c.AddHook(afterPipeline(func() {
				if end := counted.Load(); end != nil {
					(*end)()
				}
			}))
			for range 10 {
				ctx, cancel := context.WithCancel(context.Background())
				counted.Store(&cancel)
				if d, err := s.Take(ctx, charge("k", 1, one, hundred)); err == nil && d.Allowed {
					t.Fatalf("a second of one: %+v", d)
				}
			}
			d := take(t, s, charge("k", 0, one, hundred))
			for range 100 { // What is given back without the caller may take a while.
				if d.Charge(1).Remaining == 99 {
					return
				}
				time.Sleep(handBackGrace)
				d = take(t, s, charge("k", 0, one, hundred))
			}
			t.Errorf("after one of 100: %+v", d.Charges)
		})
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
