package plainstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// servers starts each kind of server.
var servers = map[string]func(t *testing.T) (redis.UniversalClient, *Store){
	"redis-server": func(t *testing.T) (redis.UniversalClient, *Store) {
		c := redistest.Start(t).Client()
		return c, newStore(t, c)
	},
	"miniredis": func(t *testing.T) (redis.UniversalClient, *Store) {
		_, c, s := miniServer(t)
		return c, s
	},
}

func TestTake(t *testing.T) {
	t.Parallel()
	ten, three, hundred := per(10, time.Minute), per(3, time.Hour), per(100, time.Hour)
	tests := map[string]func(t *testing.T, c redis.UniversalClient, s *Store){
		"counts and refuses": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			for i := range int64(10) {
				if d := take(t, s, charge("k", 1, ten)); !d.Allowed || d.Remaining != 9-i || d.ResetAfter <= 59*time.Second || d.ResetAfter > time.Minute+time.Millisecond {
					t.Fatalf("call %d: %+v", i, d)
				}
			}
			if d := take(t, s, charge("k", 1, ten)); d.Allowed || d.Reason != store.ReasonLimited || d.Limit != ten || d.RetryAfter <= 59*time.Second || d.RetryAfter != d.ResetAfter {
				t.Errorf("eleventh of ten: %+v", d)
			}
		},
		"a refused cost takes nothing": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			take(t, s, charge("k", 8, ten))
			for range 3 {
				if d := take(t, s, charge("k", 5, ten)); d.Allowed || d.Remaining != 2 {
					t.Fatalf("five of two: %+v", d)
				}
			}
			if d := take(t, s, charge("k", 2, ten)); !d.Allowed || d.Remaining != 0 {
				t.Errorf("two of two: %+v", d)
			}
		},
		"all or nothing": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			for range 3 {
				take(t, s, charge("k", 1, ten, three))
			}
			for range 3 {
				if d := take(t, s, charge("k", 1, ten, three)); d.Allowed || d.Limit != three || d.Charge(0) != (store.ChargeState{Remaining: 7, ResetAfter: d.Charge(0).ResetAfter}) {
					t.Fatalf("refused by one of two: %+v", d)
				}
			}
			if d := take(t, s, charge("k", 0, ten, three)); d.Charge(0).Remaining != 7 || d.Charge(1).Remaining != 0 {
				t.Errorf("after refusals: %+v", d)
			}
		},
		"the binding limit": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			if d := take(t, s, charge("k", 3, ten, per(7, time.Hour))); d.Limit.Rate != 7 || d.Remaining != 4 {
				t.Errorf("allowed, want the smallest share: %+v", d)
			}
			if d := take(t, s, charge("k", 9, ten, per(9, time.Second))); d.Limit != ten || d.Charge(1).RetryAfter <= 0 {
				t.Errorf("refused, want the longest wait: %+v", d)
			}
		},
		"eight limits": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			var limits []store.Limit
			for i := range 8 {
				limits = append(limits, per(int64(10+i), time.Minute))
			}
			if d := take(t, s, charge("k", 2, limits...)); !d.Allowed || len(d.Charges) != 8 || d.Charge(7).Remaining != 15 {
				t.Errorf("%+v", d)
			}
		},
		"concurrent calls": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for range 300 {
				wg.Go(func() {
					if d, err := s.Take(context.Background(), charge("k", 1, hundred)); err == nil && d.Allowed {
						admitted.Add(1)
					}
				})
			}
			wg.Wait()
			if admitted.Load() != 100 {
				t.Errorf("%d of 300 admitted, want 100", admitted.Load())
			}
			if d := take(t, s, charge("k", 0, per(200, time.Hour))); d.Remaining != 100 {
				t.Errorf("%d of 200 remaining, want 100", d.Remaining)
			}
		},
		"never fits": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			if d := take(t, s, charge("k", 4, ten, three)); d.Allowed || d.Reason != store.ReasonNeverFits || d.RetryAfter != store.Never || d.Limit != three || d.Charge(0).RetryAfter != 0 {
				t.Errorf("four of three: %+v", d)
			}
			if d := take(t, s, charge("k", 0, ten, three)); d.Charge(0).Remaining != 10 || d.ResetAfter != 0 {
				t.Errorf("afterwards: %+v", d)
			}
		},
		"a look changes nothing": func(t *testing.T, c redis.UniversalClient, s *Store) {
			take(t, s, charge("k", 10, ten))
			for range 3 {
				if d := take(t, s, charge("k", 0, ten)); !d.Allowed || d.Remaining != 0 || d.RetryAfter != 0 || d.ResetAfter <= 0 {
					t.Fatalf("%+v", d)
				}
			}
			if d := take(t, s, charge("fresh", 0, ten)); !d.Allowed || d.Remaining != 10 || d.ResetAfter != 0 || c.Exists(context.Background(), counter("fresh", 0)).Val() != 0 {
				t.Errorf("an unused key: %+v", d)
			}
		},
		"reset": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			take(t, s, charge("k", 3, ten, three))
			for range 2 {
				if err := s.Reset(context.Background(), "", "k"); err != nil {
					t.Fatal(err)
				}
			}
			if d := take(t, s, charge("k", 3, ten, three)); !d.Allowed {
				t.Errorf("after a reset: %+v", d)
			}
		},
		"large numbers": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			l := per(store.MaxUnits, store.MaxPeriod)
			if d := take(t, s, charge("k", store.MaxUnits, l)); !d.Allowed || d.Remaining != 0 || d.ResetAfter < store.MaxPeriod-time.Minute {
				t.Errorf("%+v", d)
			}
			if d := take(t, s, charge("k", store.MaxUnits, l)); d.Allowed {
				t.Errorf("%+v", d)
			}
		},
		"a window without an end gets one": func(t *testing.T, c redis.UniversalClient, s *Store) {
			c.Set(context.Background(), counter("k", 0), 10, 0)
			if d := take(t, s, charge("k", 0, ten)); d.ResetAfter != time.Minute+time.Millisecond {
				t.Errorf("a look: %+v", d)
			}
			if d := take(t, s, charge("k", 1, ten)); d.Allowed || d.RetryAfter != time.Minute+time.Millisecond {
				t.Fatalf("%+v", d)
			}
			if ttl := c.PTTL(context.Background(), counter("k", 0)).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("TTL %v", ttl)
			}
		},
		"a shorter window ends sooner": func(t *testing.T, _ redis.UniversalClient, s *Store) {
			take(t, s, charge("k", 10, per(10, 24*time.Hour)))
			if d := take(t, s, charge("k", 1, ten)); d.Allowed || d.RetryAfter > time.Minute+time.Millisecond {
				t.Errorf("%+v", d)
			}
		},
		"a foreign value is a typed error": func(t *testing.T, c redis.UniversalClient, s *Store) {
			ctx := context.Background()
			c.HSet(ctx, counter("hash", 1), "a", "b")
			c.Set(ctx, counter("text", 1), "hello", 0)
			for _, key := range []string{"hash", "text"} {
				for _, cost := range []int64{0, 1, 1} {
					_, err := s.Take(ctx, charge(key, cost, ten, three))
					var one interface{ OfOneKey() bool }
					if !errors.Is(err, ErrState) || !errors.As(err, &one) || !one.OfOneKey() || !strings.HasPrefix(err.Error(), "plainstore: ") {
						t.Errorf("a %s: got %v, want ErrState", key, err)
					}
				}
				if d := take(t, s, charge(key, 0, ten)); d.Remaining != 10 {
					t.Errorf("a %s beside: the other limit was charged: %+v", key, d)
				}
				if err := s.Reset(ctx, "", key); err != nil {
					t.Fatal(err)
				}
				take(t, s, charge(key, 1, ten, three))
			}
		},
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					c, s := start(t)
					test(t, c, s)
					everyKeyHasATTL(t, c)
				})
			}
		})
	}
}

func everyKeyHasATTL(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	for _, key := range c.Keys(ctx, "*").Val() {
		if ttl := c.PTTL(ctx, key).Val(); ttl < 0 {
			t.Errorf("%s has no TTL", key)
		}
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	_, _, s := miniServer(t)
	ten := per(10, time.Minute)
	for name, test := range map[string]struct {
		change func(req *store.Request)
		want   string
	}{
		"waiting":    {func(r *store.Request) { r.MaxWait = time.Second }, "plainstore: Request.MaxWait: want 0 (calls can't wait here: use Limiter.Allow, or Refuse of a Transport), got 1s"},
		"cancelling": {func(r *store.Request) { r.Cancelable = true }, "plainstore: Request.Cancelable: want false, got true"},
		"holding": {
			func(r *store.Request) { r.Hold = store.Hold{Max: 1, ID: "a", Lease: time.Minute} },
			"plainstore: Request.Hold: want none, got a lease of 1m0s",
		},
		"a reserve":  {func(r *store.Request) { r.Charges[0].Reserve = 3 }, "plainstore: Charge.Reserve: want 0, got 3"},
		"two keys":   {func(r *store.Request) { r.Charges[1].Key = "l" }, "plainstore: Request.Charges: want one scope and key, got several"},
		"two scopes": {func(r *store.Request) { r.Charges[1].Scope = "s" }, "plainstore: Request.Charges: want one scope and key, got several"},
		"GCRA": {
			func(r *store.Request) { r.Charges[1].Limit.Algorithm = store.GCRA },
			"plainstore: Charge.Limit.Algorithm: want fixed_window (by Limit.By), got gcra",
		},
		"nine limits": {
			func(r *store.Request) {
				for range 7 {
					r.Charges = append(r.Charges, r.Charges[0])
				}
			},
			"plainstore: Request.Charges: want at most 8, got 9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := charge("k", 1, ten, ten)
			test.change(&req)
			_, err := s.Take(context.Background(), req)
			var wrong *store.ConfigError
			if !errors.Is(err, store.ErrUnsupported) || !errors.As(err, &wrong) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	for name, ability := range map[string]bool{
		"Canceler": is[store.Canceler](s), "Settler": is[store.Settler](s), "Braker": is[store.Braker](s), "Holder": is[store.Holder](s),
	} {
		if ability {
			t.Errorf("the store is a %s", name)
		}
	}
}

func is[T any](s any) bool { _, ok := s.(T); return ok }

func TestMistakes(t *testing.T) {
	t.Parallel()
	_, c, s := miniServer(t)
	for _, cfg := range []Config{{}, {Client: (*redis.Client)(nil)}, {Client: c, Prefix: "{"}} {
		if _, err := New(cfg); !errors.Is(err, store.ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for _, req := range []store.Request{{}, charge("k", -1, per(1, time.Second)), charge("k", 1, per(0, time.Second))} {
		if _, err := s.Take(context.Background(), req); !errors.Is(err, store.ErrConfig) {
			t.Errorf("%+v: %v", req, err)
		}
	}
}
