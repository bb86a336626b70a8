package fallback

import (
	"context"
	"sync/atomic"
	"time"
)

// ending is the end of the patience, shared by calls that start at about the same time: a
// timer for each would cost more than the rest of a call.
type ending struct {
	from, until time.Time // calls that start in between share it
	at          time.Time
	over        chan struct{} // closed at at
}

// endings keeps the latest ending.
type endings struct{ last atomic.Pointer[ending] }

// sharing divides the patience: a call may lose that part of it by sharing an ending.
const sharing = 32

func (e *endings) next(now time.Time, patience time.Duration) *ending {
	if end := e.last.Load(); end != nil && now.Before(end.until) && !now.Before(end.from) {
		return end
	}
	end := &ending{from: now, until: now.Add(patience / sharing), at: now.Add(patience), over: make(chan struct{})}
	time.AfterFunc(patience, func() { close(end.over) })
	// A time without a monotonic reading belongs to a bubble of testing/synctest, whose
	// channels must not leave the bubble.
	if now != now.Round(0) {
		e.last.Store(end)
	}
	return end
}

// endingContext has the values of a call's context, and ends with its patience. Its
// deadline, which a client may set on its socket, is later: a connection outlasts a short
// pause of the primary, and a stall of this process.
type endingContext struct {
	of       context.Context
	end      *ending
	deadline time.Time
}

func (c *endingContext) Deadline() (time.Time, bool) { return c.deadline, true }
func (c *endingContext) Done() <-chan struct{}       { return c.end.over }
func (c *endingContext) Value(key any) any           { return c.of.Value(key) }

func (c *endingContext) Err() error {
	select {
	case <-c.end.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
