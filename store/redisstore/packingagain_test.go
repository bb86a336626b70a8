package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// said is an error of a server.
type said string

func (e said) Error() string { return string(e) }
func (said) RedisError()     {}

// inPlace is a hook that may do or answer something before a pipeline.
type inPlace struct{ before func() error }

func (*inPlace) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*inPlace) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *inPlace) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.before != nil {
			if err := h.before(); err != nil {
				return err
			}
		}
		return next(ctx, cmds)
	}
}

// ago has what was found be found so long ago.
func (p *packing) ago(age time.Duration) {
	f := *p.found.Load()
	f.at = time.Now().Add(-age)
	p.found.Store(&f)
}

func TestFindingsLastAsLongAsTheyMay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	lost := func() error { server.Client().FlushAll(t.Context()); return nil }
	answer := func(err error) func() error { return func() error { return err } }
	afterOne := func(f func() error) func() error {
		n := 0
		return func() error {
			if n++; n == 1 {
				return nil
			}
			return f()
		}
	}
	for name, test := range map[string]struct {
		before       func() error
		first, later int32 // found at once, and in a second, when nothing is in the way
		undeclared   bool
	}{
		"a server":                        {nil, together, together, false},
		"a server that loads its data":    {answer(said("LOADING Redis is loading the dataset in memory")), unknown, together, false},
		"a replica":                       {answer(said("READONLY You can't write against a read only replica.")), unknown, together, false},
		"no connection":                   {answer(errors.New("broken")), unknown, together, false},
		"a failover during the probe":     {lost, unknown, together, false},
		"a node of a cluster":             {answer(said("MOVED 1 127.0.0.1:1")), apart, apart, false},
		"a server that permits no probes": {answer(said("NOPERM No permissions to access a key")), apart, apart, false},
		"a master on which a slot moves":  {afterOne(answer(said("ERR Script attempted to access a non local key in a cluster node"))), unknown, together, true},
		"a master that has keys declared": {afterOne(answer(said("ERR script tried accessing undeclared key"))), apart, apart, true},
		"an error of a script":            {afterOne(answer(said("ERR user_script:1: broken"))), unknown, together, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := server.Client()
			h := &inPlace{before: test.before}
			c.AddHook(h)
			s := newStore(t, c)
			p := &s.shared.first.packs
			p.undeclared = test.undeclared
			if got := p.look(t.Context(), s, false); got != test.first {
				t.Errorf("%d at first, want %d", got, test.first)
			}
			h.before = nil
			if got := p.look(t.Context(), s, false); got != test.first {
				t.Errorf("%d at once, want %d as before", got, test.first)
			}
			p.ago(probeAgain)
			if got := p.look(t.Context(), s, false); got != test.later {
				t.Errorf("%d in a second, want %d", got, test.later)
			}
			p.ago(probeAnew)
			if got := p.look(t.Context(), s, false); got != together {
				t.Errorf("%d in a minute, want %d", got, together)
			}
			h.before = answer(errors.New("broken"))
			p.ago(probeAnew)
			if got := p.look(t.Context(), s, false); got != together {
				t.Errorf("%d when it can't be said any more, want what was found before", got)
			}
		})
	}
}

func TestServerBecomesSeveral(t *testing.T) {
	t.Parallel()
	one, another := redistest.Start(t), redistest.Start(t)
	front := one.Client()
	servers := []*redis.Client{one.Client(), one.Client()}
	front.AddHook(proxy{servers})
	s := newStore(t, front)
	p := &s.shared.first.packs
	if got := p.look(t.Context(), s, false); got != together {
		t.Fatalf("%d of one server", got)
	}
	servers[1] = another.Client()
	s.denials.failed(errors.New("a connection was lost"))
	p.ago(probeAgain)
	if got := p.look(t.Context(), s, false); got != scattered {
		t.Errorf("%d of several servers, want %d", got, scattered)
	}
}

// TestLevelsBehindAProxy: nobody exceeds the wide level's limit where servers
// would decide on it without knowing of each other.
func TestLevelsBehindAProxy(t *testing.T) {
	t.Parallel()
	front := redistest.Start(t).Client()
	front.AddHook(proxy{[]*redis.Client{redistest.Start(t).Client(), redistest.Start(t).Client()}})
	s := newStore(t, front)
	request := func(user int) store.Request {
		req := charge(fmt.Sprint("user ", user), 1, store.Per(10, time.Hour))
		req.Charges = append(req.Charges, charge("org", 1, store.Per(12, time.Hour)).Charges...)
		return req
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	allowed := 0
	for user := range 12 {
		wg.Go(func() {
			for range 4 {
				if d := take(t, s, request(user)); d.Allowed {
					mu.Lock()
					allowed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if allowed != 12 {
		t.Errorf("%d allowed, want 12", allowed)
	}
	waiting := request(1)
	waiting.MaxWait = time.Hour
	if _, err := s.Take(t.Context(), waiting); !errors.Is(err, ErrCrossSlot) {
		t.Errorf("a request that may wait: %v, want ErrCrossSlot", err)
	}
}

// TestLevelsWaitWhileAServerLoads: that the servers can't be told of yet is no
// reason to refuse to wait.
func TestLevelsWaitWhileAServerLoads(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	c.AddHook(&inPlace{func() error { return said("LOADING Redis is loading the dataset in memory") }})
	s := newStore(t, c)
	req := nested(hours(1, 9), "user", "org")
	req.MaxWait = 2 * time.Hour
	for i := range 2 {
		if d := take(t, s, req); !d.Allowed || (d.Delay > 0) != (i == 1) {
			t.Errorf("call %d: %+v", i, d)
		}
	}
}
