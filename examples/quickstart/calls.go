package main

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// callCounter is a go-redis hook that counts commands. Greetings of new
// connections are none.
type callCounter struct{ n atomic.Int64 }

func (c *callCounter) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		switch cmd.Name() {
		case "hello", "auth", "client", "select":
		default:
			c.n.Add(1)
		}
	}
}

func (c *callCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *callCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c *callCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds...)
		return next(ctx, cmds)
	}
}
