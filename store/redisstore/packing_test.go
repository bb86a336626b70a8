package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
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
	for name, test := range map[string]struct {
		client redis.UniversalClient
		want   int32
	}{
		"a server":                     {one, together},
		"a proxy in front of several":  {front, scattered},
		"a cluster":                    {cluster.Client(), apart},
		"a node of a cluster, alone":   {cluster.Nodes[0].Client(), apart},
		"a ring":                       {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": cluster.Addrs[0]}}), apart},
		"a server that is not there":   {redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1}), unknown},
		"a server without its scripts": {func() redis.UniversalClient { _, c := miniClient(t); return c }(), together},
	} {
		s := newStore(t, test.client)
		var reqs []weir.Request
		for i := range 60 {
			reqs = append(reqs, charge(fmt.Sprint(name, i%30), 1, weir.PerHour(1)))
		}
		ds, errs := onBoard(s, reqs)
		if got := s.shared.first.packs.is(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
		if test.client == redis.UniversalClient(front) || test.want == together {
			for i := range reqs {
				if errs[i] != nil || ds[i].Allowed != (i < 30) {
					t.Errorf("%s: call %d: %+v, %v", name, i, ds[i], errs[i])
				}
			}
		}
		if name == "a ring" || test.want == unknown {
			_ = test.client.Close()
		}
	}
}
