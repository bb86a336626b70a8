package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// proxy is a hook that sends a command on to one of several servers, by its
// first key alone.
type proxy struct{ servers []*redis.Client }

func (p proxy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p proxy) ProcessHook(redis.ProcessHook) redis.ProcessHook { return p.process }

func (p proxy) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range cmds {
			if err := p.process(ctx, cmd); err != nil {
				cmd.SetErr(err)
				first = errors.Join(first, err)
			}
		}
		return first
	}
}

func (p proxy) process(ctx context.Context, cmd redis.Cmder) error {
	sum := 0
	for _, c := range []byte(fmt.Sprint(cmd.Args()[3])) {
		sum += int(c)
	}
	return p.servers[sum%len(p.servers)].Process(ctx, cmd)
}

func TestKeysArePackedOnlyOnOneServer(t *testing.T) {
	t.Parallel()
	_, one := miniClient(t)
	_, another := miniClient(t)
	_, front := miniClient(t)
	front.AddHook(proxy{[]*redis.Client{one, another}})
	cluster := redistest.StartCluster(t)
	master := one.Options().Addr // of a cluster whose masters are proxies
	masters := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: master}}}}, nil
	}})
	masters.AddHook(proxy{[]*redis.Client{one, another}})
	ring := func(addrs ...string) *redis.Ring {
		shards := map[string]string{}
		for i, addr := range addrs {
			shards[fmt.Sprint("shard", i)] = addr
		}
		c := redis.NewRing(&redis.RingOptions{Addrs: shards})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	node := cluster.Nodes[0].Client()
	absent := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1})
	t.Cleanup(func() { _, _ = masters.Close(), absent.Close() })
	for name, test := range map[string]struct {
		client redis.UniversalClient
		want   int32
	}{
		"a server":                    {one, together},
		"a proxy in front of several": {front, scattered},
		"a cluster":                   {cluster.Client(), together},
		"a cluster of proxies":        {masters, scattered},
		"a node of a cluster, alone":  {node, apart},
		"a ring":                      {ring(one.Options().Addr, another.Options().Addr), apart},
		"a server that is not there":  {absent, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.client)
			var reqs []store.Request
			for i := range 60 {
				reqs = append(reqs, charge(fmt.Sprint(name, i%30), 1, store.Per(1, time.Hour)))
			}
			ds, errs := onBoard(s, reqs)
			for i := range reqs {
				if got := lineOf(s, s.stateKey("", reqs[i].Charges[0].Key)).packs.is(); got != test.want {
					t.Errorf("%d, want %d", got, test.want)
				}
				if test.want == unknown || test.client == redis.UniversalClient(node) {
					continue // not there, or not there for all
				}
				if errs[i] != nil || ds[i].Allowed != (i < 30) {
					t.Errorf("call %d: %+v, %v", i, ds[i], errs[i])
				}
			}
		})
	}
}

// TestPackedCallsOfACluster counts the script calls of a flight of many keys: one
// of each master.
func TestPackedCallsOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	for name, limits := range map[string][]store.Limit{
		"one limit":       {store.Per(10, time.Hour)},
		"two limits":      {store.Per(10, time.Hour), store.Per(100, 24*time.Hour)},
		"sliding windows": {store.Per(10, time.Hour).By(store.SlidingWindow), store.Per(100, 24*time.Hour).By(store.SlidingWindow)},
	} {
		var reqs []store.Request
		for i := range 600 {
			reqs = append(reqs, charge(fmt.Sprint(name, i), 1, limits...))
		}
		fly := func() {
			if _, errs := onBoard(s, reqs); errors.Join(errs...) != nil {
				t.Error(errors.Join(errs...))
			}
		}
		fly() // The first one probes, and sends the script's text.
		for i, node := range cluster.Nodes {
			if commands := node.CommandsDuring(fly); commands["evalsha"] != 1 || commands["eval"] != 0 {
				t.Errorf("%s, node %d: %v, want one EVALSHA", name, i, commands)
			}
		}
		for _, req := range reqs {
			if d := take(t, s, req); d.Charge(0).Remaining != 5 {
				t.Errorf("%s: %d remaining, want 5", req.Charges[0].Key, d.Charge(0).Remaining)
			}
		}
	}
}
