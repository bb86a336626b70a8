package fallback

import (
	"context"
	"sync/atomic"
	"time"
)

// ending is the end of the patience of calls that came at about the same time: a
// timer for each of them would cost more than the rest of a call.
type ending struct {
	from, until time.Time // who comes in between may share it
	at          time.Time
	over        chan struct{} // closed at that time
}

// endings returns that of the call that comes now.
type endings struct{ last atomic.Pointer[ending] }

// sharing is the part of the patience that a call may have less than the one whose
// ending it shares.
const sharing = 32

func (e *endings) next(now time.Time, patience time.Duration) *ending {
	if end := e.last.Load(); end != nil && now.Before(end.until) && !now.Before(end.from) {
		return end
	}
	end := &ending{from: now, until: now.Add(patience / sharing), at: now.Add(patience), over: make(chan struct{})}
	time.AfterFunc(patience, func() { close(end.over) })
	// A time without a monotonic reading is that of a bubble of testing/synctest,
	// whose channels may not be used in another.
	if now != now.Round(0) {
		e.last.Store(end)
	}
	return end
}

// endingContext is a context with the values of a call's, which ends with its patience. The
// deadline that a client may set on its socket is later: a connection outlasts a short
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
