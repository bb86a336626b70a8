package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// incrBy opens each window if it is not open, with its end, and counts.
func (p *plain) incrBy(ctx context.Context, counters []counter) error {
	values, err := p.count(ctx, counters, 1)
	if err != nil {
		return err
	}
	for i := range counters {
		c := &counters[i]
		c.value = values[i].value
		c.taken = c.charge.Cost == 0 || c.value <= c.charge.Limit.Rate
		c.first = c.charge.Cost > 0 && c.value == c.charge.Cost && !values[i].opened
		if err := p.ttl(ctx, c, values[i].pttl); err != nil {
			return err
		}
	}
	return nil
}

// counted is a window's answer: its value after, how long it is still open, and
// whether it was opened.
type counted struct {
	value, pttl int64
	opened      bool
}

// count adds each charge's cost times sign in one transaction, and looks at the
// windows of charges that cost nothing. A window never stands without its end: it is
// opened with it, where PEXPIRE NX would come after (and needs Redis 7). One that is
// opened only to take something out of it holds that, so that it is never below 0.
func (p *plain) count(ctx context.Context, counters []counter, sign int64) ([]counted, error) {
	list, opens, cmds := make([]counted, len(counters)), make([]once, len(counters)), make([][]once, len(counters))
	_, err := p.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range counters {
			c := &counters[i]
			cmds[i] = c.look(ctx)
			if cost := c.charge.Cost; cost > 0 {
				opens[i] = newOnce(ctx, "set", c.key, max(-sign*cost, 0), "px", c.period(), "nx")
				cmds[i][0] = newOnce(ctx, "incrby", c.key, sign*cost)
				if err := pipe.Process(ctx, opens[i]); err != nil {
					return err
				}
			}
			for _, cmd := range cmds[i] {
				if err := pipe.Process(ctx, cmd); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil && err != redis.Nil {
		return nil, err
	}
	for i := range list {
		list[i].opened = opens[i].Cmd != nil && opens[i].Err() == nil
		if list[i].value, list[i].pttl, err = read(cmds[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// giveBack takes a refused request's units out of the windows that counted
// them, and out of what is reported of those.
func (p *plain) giveBack(ctx context.Context, counters []counter) error {
	if !p.noIncrEx.Load() {
		return p.giveBackEx(ctx, counters)
	}
	if _, err := p.count(ctx, counters, -1); err != nil {
		return err
	}
	for i := range counters {
		counters[i].value -= counters[i].charge.Cost
	}
	return nil
}
