package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/redis/go-redis/v9"
)

// batch makes a store decide requests that combine as one batch for each of its queues,
// in their order.
func batch(s *Store, reqs []store.Request) ([]store.Decision, []error) {
	ctx := context.Background()
	calls := make([]*call, len(reqs))
	queues := map[*queue][]combine.Group[keys.Key, call]{}
	for i := range reqs {
		key := keys.Of(&reqs[i].Charges[0])
		calls[i] = &call{limits: s.limits.of(reqs[i].Charges), cancelable: reqs[i].Cancelable}
		of := s.queues.of(ctx, key)
		at := slices.IndexFunc(queues[of], func(g combine.Group[keys.Key, call]) bool { return g.Key == key })
		if at < 0 {
			at = len(queues[of])
			queues[of] = append(queues[of], combine.Group[keys.Key, call]{Key: key})
		}
		g := &queues[of][at]
		g.Calls = append(g.Calls, calls[i])
	}
	failed := map[*queue]error{}
	for of, groups := range queues {
		failed[of] = s.decide(ctx, groups)
	}
	ds, errs := make([]store.Decision, len(reqs)), make([]error, len(reqs))
	for i := range reqs {
		q := s.question(&reqs[i])
		var decided bool
		if ds[i], decided, errs[i] = s.conclude(&reqs[i], &q, calls[i], nil); !decided {
			ds[i], errs[i] = s.takeAlone(ctx, &reqs[i])
		}
	}
	return ds, errs
}

// single decides a request in a call of its own, past the remembered refusals.
func single(t testing.TB, s *Store, req store.Request) store.Decision {
	t.Helper()
	d, err := s.takeAlone(context.Background(), &req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// differ describes the differences of two decisions, apart from their receipts; "": none.
func differ(a, b store.Decision) string {
	if (a.Receipt == nil) != (b.Receipt == nil) {
		return "receipt"
	}
	a.Receipt, b.Receipt = nil, nil
	// A clock at full speed equals no clock.
	a.Clock, b.Clock = nil, nil
	a.Source = b.Source
	a.Source, a.OtherLimits = b.Source, b.OtherLimits // Lapsed limits are forgotten sooner or later.
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		return "\ngot  " + x + "\nwant " + y + "\n"
	}
	return ""
}

// gate is a hook that counts commands, and can hold them up or answer them.
type gate struct {
	commands atomic.Int64 // EVALSHA, EVAL and all others, except those of new connections
	held     atomic.Int64
	tokens   atomic.Pointer[chan struct{}]
	answer   atomic.Pointer[func() error] // in place of Redis; nil: Redis
}

// shut makes each command, or pipeline, wait for a token.
func (g *gate) shut() (let func(), open func()) {
	tokens := make(chan struct{})
	g.tokens.Store(&tokens)
	return func() { tokens <- struct{}{} }, sync.OnceFunc(func() {
		g.tokens.Store(nil)
		close(tokens)
	})
}

func (g *gate) pass(cmds ...redis.Cmder) error {
	if slices.Contains([]string{"hello", "auth", "client", "select", "readonly", "command", "ping"}, cmds[0].Name()) {
		return nil // The machine decides how many connections there are.
	}
	g.commands.Add(int64(len(cmds)))
	if tokens := g.tokens.Load(); tokens != nil {
		g.held.Add(1)
		<-*tokens
		g.held.Add(-1)
	}
	if answer := g.answer.Load(); answer != nil {
		return (*answer)()
	}
	return nil
}

// hold returns when n commands or pipelines are held up.
func (g *gate) hold(t testing.TB, n int64) {
	t.Helper()
	for began := time.Now(); g.held.Load() != n; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d commands are held up, want %d", g.held.Load(), n)
		}
	}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.pass(cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := g.pass(cmds...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

// TestUnansweredBatch: a batch fails as a whole only if the server has answered none of it,
// so that its time does not count as that of a round trip.
func TestUnansweredBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		fails  bool
	}{
		"answered":                  {nil, false},
		"refused by the server":     {serverError("ERR busy"), false},
		"without a connection":      {errors.New("refused"), true},
		"without the server's time": {context.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := miniClient(t)
			g := new(gate)
			client.AddHook(g)
			s := newStore(t, client)
			if c.answer != nil {
				answer := func() error { return c.answer }
				g.answer.Store(&answer)
			}
			req := charge("key", 1, store.Per(5, time.Hour))
			one := &call{limits: s.limits.of(req.Charges)}
			err := s.decide(t.Context(), []combine.Group[keys.Key, call]{{Key: keys.Key{Key: "key"}, Calls: []*call{one}}})
			if (err != nil) != c.fails || !errors.Is(one.err, c.answer) || err != nil && !errors.Is(err, c.answer) {
				t.Errorf("%v, the call's error is %v", err, one.err)
			}
		})
	}
}
