package redisstore

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func TestConfigure(t *testing.T) {
	t.Parallel()
	single, cluster, failover := new(redis.Options), new(redis.ClusterOptions), new(redis.FailoverOptions)
	ring, universal := new(redis.RingOptions), new(redis.UniversalOptions)
	set := &redis.Options{MaxRetries: 2, DialerRetries: 3, DialTimeout: 1, ReadTimeout: 2, WriteTimeout: -1, PoolTimeout: 4}
	Configure(single)
	ConfigureCluster(cluster)
	ConfigureFailover(failover)
	ConfigureRing(ring)
	ConfigureUniversal(universal)
	Configure(set)
	fresh := []any{true, -1, 1, dialTimeout, replyTimeout, replyTimeout, poolTimeout}
	for name, c := range map[string]struct {
		options any
		want    []any
	}{
		"single":             {single, fresh},
		"cluster":            {cluster, fresh},
		"failover":           {failover, fresh},
		"ring":               {ring, fresh},
		"universal":          {universal, fresh},
		"options set before": {set, []any{true, 2, 3, time.Duration(1), time.Duration(2), time.Duration(-1), time.Duration(4)}},
		"as Universal has":   {universal.Simple(), fresh},
	} {
		t.Run(name, func(t *testing.T) {
			v := reflect.ValueOf(c.options).Elem()
			for i, field := range []string{"ContextTimeoutEnabled", "MaxRetries", "DialerRetries", "DialTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"} {
				if got := v.FieldByName(field).Interface(); got != c.want[i] {
					t.Errorf("%s is %v, want %v", field, got, c.want[i])
				}
			}
		})
	}
}

// A configured client returns an error soon, and sends no decision twice.
func TestConfiguredClientFailsSoon(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]redistest.Fault{
		"refused": redistest.Refuse, "black hole": redistest.Blackhole, "cut": redistest.CutMidReply(2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr)
			c := server.Client(Configure, func(o *redis.Options) { o.Addr = proxy.Addr })
			s := newStore(t, c)
			req := charge("k", 1, store.Per(100, time.Hour))
			// A busy machine may take longer than the client's timeouts.
			for tries := 1; ; tries++ {
				_, err := s.Take(context.Background(), req)
				if err == nil {
					break
				}
				if tries == 20 {
					t.Fatal(err)
				}
			}
			proxy.Set(fault)
			start := time.Now()
			sent := server.CommandsDuring(func() {
				if _, err := s.Take(context.Background(), req); err == nil {
					t.Error("no error")
				}
			})
			// 0.5 s to dial and 0.25 s to read, with room for a busy machine.
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("it took %v", took)
			}
			if n := sent["evalsha"] + sent["eval"]; n > 1 {
				t.Errorf("sent %d times", n)
			}
			start = time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if _, err := s.Take(ctx, req); err == nil {
				t.Error("no error")
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("with a deadline in 20 ms it took %v", took)
			}
		})
	}
}

func TestOnlyForeignStateIsOfOneKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"WRONGTYPE Operation against a key": true, "WEIRSTATE a value": true,
		"TRYAGAIN Multiple keys request during rehashing of slot": true, "ERR WEIRTIME no": false, "CROSSSLOT Keys in request": false, "LOADING Redis is loading": false, "OOM command not allowed": false,
	} {
		var ke interface{ OfOneKey() bool }
		if err := classify(serverError(text)); (errors.As(err, &ke) && ke.OfOneKey()) != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
}
