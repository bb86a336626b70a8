package redisstore

import (
	"context"
	"sync/atomic"
	"time"
)

// flightContext is that of a flight: with the values of its first call, and the
// latest deadline of all. It is cancelled when all its callers have left, which
// keeps the client from sending what it has not sent, and not before, as those do
// not end together.
type flightContext struct {
	context.Context // of the first call, for its values
	deadline        time.Time
	ends            bool
	aboard          atomic.Int32  // those who have not left, and one more until done is set
	done            chan struct{} // nil: somebody can't leave
}

// embark prepares the context of a flight of n calls.
func (f *flight) embark(n int) {
	f.trip = new(flightContext)
	f.trip.aboard.Store(int32(n) + 1)
}

// context completes that of the flight, when it is known who is aboard.
func (f *flight) context() context.Context {
	c := f.trip
	c.Context, c.ends = f.calls[0].ctx, true
	stays := false
	for _, w := range f.calls {
		stays = stays || w.ctx.Done() == nil
		switch deadline, ok := w.ctx.Deadline(); {
		case !ok:
			c.ends = false
		case deadline.After(c.deadline):
			c.deadline = deadline
		}
		if stays && !c.ends {
			break
		}
	}
	if !stays {
		if f.done == nil {
			f.done = make(chan struct{})
		}
		c.done = f.done
	}
	c.leave(int32(f.absent) + 1)
	return c
}

// disembark ends a flight. Its channel serves the next one, unless it is closed or
// is about to be.
func (f *flight) disembark() {
	if f.trip.aboard.Add(1) == 1 {
		f.done = nil
	}
}

// leave has some leave. Nobody is left but once.
func (c *flightContext) leave(some int32) {
	if c.aboard.Add(-some) == 0 && c.done != nil {
		close(c.done)
	}
}

func (c *flightContext) Deadline() (time.Time, bool) {
	if !c.ends {
		return time.Time{}, false
	}
	return c.deadline, true
}

func (c *flightContext) Done() <-chan struct{} { return c.done }

func (c *flightContext) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}
