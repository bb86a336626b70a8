package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// plain decides fixed windows with plain commands, in one transaction: each
// window is a counter that expires when it ends. Where the server has INCREX
// (Redis 8.8, Valkey 9.2), that refuses by itself; elsewhere every call is
// counted, and a refused one taken back at once.
type plain struct {
	client   redis.UniversalClient
	noIncrEx atomic.Bool
}

// counter is one fixed window in Redis.
type counter struct {
	key    string
	charge *store.Charge
	taken  bool
	first  bool  // of what the window counts: one that nobody is counted in is not open
	value  int64 // after the call, without what was refused
	left   int64 // ms until the window ends
}

// period is the window in milliseconds, rounded up.
func (c *counter) period() int64 {
	return int64((c.charge.Limit.Period + time.Millisecond - 1) / time.Millisecond)
}

func (p *plain) take(ctx context.Context, s *Store, req *store.Request) (store.Decision, error) {
	if req.Hold.Asked() || req.Cancelable {
		return store.Decision{}, ErrNeedsScripts
	}
	first := &req.Charges[0]
	counters := make([]counter, len(req.Charges))
	for i := range req.Charges {
		c := &req.Charges[i]
		if i == plainLimits || c.Limit.Algorithm != store.FixedWindow || c.Reserve > 0 || req.MaxWait > 0 || c.Key != first.Key || c.Scope != first.Scope {
			return store.Decision{}, ErrNeedsScripts
		}
		counters[i] = counter{key: s.plainKey(c.Scope, c.Key, i), charge: c}
	}
	look := req.Peek() || req.NeverFits() >= 0
	var err error
	switch {
	case look:
		err = p.peek(ctx, counters)
	case p.noIncrEx.Load():
		err = p.incrBy(ctx, counters)
	default:
		err = p.incrEx(ctx, counters)
		if err != nil && strings.Contains(err.Error(), "unknown command") {
			p.noIncrEx.Store(true)
			err = p.incrBy(ctx, counters)
		}
	}
	if err != nil {
		return store.Decision{}, classify(err)
	}
	return p.decide(ctx, req, counters, look)
}

// plainLimits is the most limits of one key without scripts.
const plainLimits = 8

// plainKey is the counter of the i-th limit of a key.
func (s *Store) plainKey(scope, key string, i int) string {
	state, _ := s.keys(scope, key)
	return state + ":" + strconv.Itoa(i)
}

// decide takes back what was counted when one of several refused, and reports.
func (p *plain) decide(ctx context.Context, req *store.Request, counters []counter, look bool) (store.Decision, error) {
	v := exact.Verdict{Allowed: !look}
	outcomes := make([]exact.Outcome, len(counters))
	for i := range counters {
		c := &counters[i]
		if !look && !c.taken {
			v.Allowed = false
			outcomes[i].Slot = c.left * 1000
			v.Slot = max(v.Slot, outcomes[i].Slot)
		}
	}
	if !look && !v.Allowed {
		if err := p.refuse(ctx, counters); err != nil {
			return store.Decision{}, classify(err)
		}
	}
	if v.Allowed {
		if err := p.begin(ctx, counters); err != nil {
			return store.Decision{}, classify(err)
		}
	}
	for i := range counters {
		c, o := &counters[i], &outcomes[i]
		o.Viewed, o.Remaining = true, max(c.charge.Limit.Rate-c.value, 0)
		if c.value > 0 {
			o.Reset = c.left * 1000
		}
	}
	return exact.Decide(req, v, outcomes), nil
}

// begin has windows last for their period from now that a refused call has left
// behind empty and that count their first units only now.
func (p *plain) begin(ctx context.Context, counters []counter) error {
	for i := range counters {
		c := &counters[i]
		if !c.first || c.left >= c.period() {
			continue
		}
		c.left = c.period()
		if err := p.client.Process(ctx, newOnce(ctx, "pexpire", c.key, c.left)); err != nil {
			return err
		}
	}
	return nil
}

// ttl reads a PTTL. A window that was found without end, or with one later
// than the limit's, ends after the limit's period.
func (p *plain) ttl(ctx context.Context, c *counter, pttl int64) error {
	c.left = pttl
	if c.value > 0 && (pttl == -1 || pttl > c.period()) {
		c.left = c.period()
		return p.client.Process(ctx, newOnce(ctx, "pexpire", c.key, c.period()))
	}
	c.left = max(c.left, 1)
	return nil
}

func (p *plain) peek(ctx context.Context, counters []counter) error {
	cmds := make([][]once, len(counters))
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range counters {
			cmds[i] = counters[i].look(ctx)
			for _, cmd := range cmds[i] {
				if err := pipe.Process(ctx, cmd); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil && err != redis.Nil {
		return err
	}
	for i := range counters {
		c := &counters[i]
		if c.value, c.left, err = read(cmds[i]); err != nil {
			return err
		}
		c.left = max(c.left, 1)
	}
	return nil
}

// look returns commands that change nothing of a window.
func (c *counter) look(ctx context.Context) []once {
	return []once{newOnce(ctx, "get", c.key), newOnce(ctx, "pttl", c.key)}
}

// read reads the answers to two commands: the value of a window, 0 if there is
// none, and its end.
func read(cmds []once) (value, pttl int64, err error) {
	value, err = cmds[0].Int64()
	var wrong *strconv.NumError
	switch {
	case errors.As(err, &wrong):
		return 0, 0, &stateError{kind: ErrState, err: err}
	case err != nil && err != redis.Nil:
		return 0, 0, err
	}
	pttl, err = cmds[1].Int64()
	return value, pttl, err
}

// refuse takes back what was counted of a refused request, without the caller where
// that has left, and so with charges of its own.
func (p *plain) refuse(ctx context.Context, counters []counter) error {
	back := slices.Clone(counters)
	for i := range back {
		c := *back[i].charge
		back[i].charge = &c
	}
	if err := seeThrough(ctx, func(ctx context.Context) error { return p.giveBack(ctx, back) }); err != nil {
		return err
	}
	for i := range counters {
		counters[i].value = back[i].value
	}
	return nil
}
