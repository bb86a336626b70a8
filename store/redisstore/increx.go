package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// incrEx counts with INCREX, which adds only what fits under the rate, and
// answers with the value and what was added. Windows of charges that cost nothing are
// looked at.
func (p *plain) incrEx(ctx context.Context, counters []counter) error {
	cmds := make([][]once, len(counters))
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range counters {
			c := &counters[i]
			cmds[i] = c.look(ctx)
			if c.charge.Cost > 0 {
				cmds[i][0] = newOnce(ctx, "increx", c.key, "byint", c.charge.Cost, "ubound", c.charge.Limit.Rate, "px", c.period(), "enx")
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
		return err
	}
	for i := range counters {
		c := &counters[i]
		if c.charge.Cost == 0 {
			c.taken = true
			if c.value, c.left, err = read(cmds[i]); err != nil {
				return err
			}
			c.left = max(c.left, 1)
			continue
		}
		answer, err := cmds[i][0].Int64Slice()
		if err != nil {
			return err
		}
		if len(answer) != 2 {
			return errReply
		}
		c.value, c.taken = answer[0], answer[1] == c.charge.Cost
		c.first = c.taken && c.value == c.charge.Cost
		pttl, err := cmds[i][1].Int64()
		if err != nil {
			return err
		}
		if err := p.ttl(ctx, c, pttl); err != nil {
			return err
		}
	}
	return nil
}

// giveBackEx takes back what other windows of the same request counted. Below 0
// nothing is taken: the window ended in between.
func (p *plain) giveBackEx(ctx context.Context, counters []counter) error {
	for i := range counters {
		c := &counters[i]
		if !c.taken || c.charge.Cost == 0 {
			continue
		}
		c.value -= c.charge.Cost
		if err := p.client.Process(ctx, newOnce(ctx, "increx", c.key, "byint", -c.charge.Cost, "lbound", 0)); err != nil {
			return err
		}
	}
	return nil
}
