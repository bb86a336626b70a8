package redisstore

import (
	"context"
	"time"
)

// context is that of a flight: with the values of its first call, and the latest
// deadline of all. It can't be cancelled, as those do not end together.
func (f *flight) context() context.Context {
	c := flightContext{Context: context.WithoutCancel(f.calls[0].ctx), ends: true}
	for _, w := range f.calls {
		deadline, ok := w.ctx.Deadline()
		if !ok {
			return c.Context
		}
		if deadline.After(c.deadline) {
			c.deadline = deadline
		}
	}
	return &c
}

type flightContext struct {
	context.Context
	deadline time.Time
	ends     bool
}

func (c *flightContext) Deadline() (time.Time, bool) { return c.deadline, c.ends }
