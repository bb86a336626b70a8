// Package patience ends the waiting of calls for a slow store.
package patience

import (
	"context"
	"sync/atomic"
	"time"
)

// End is the end of the patience, shared by calls that start at about the same time: a
// timer for each would cost more than the rest of a call.
type End struct {
	At   time.Time
	Over <-chan struct{} // closed at At
}

// Ends keeps the latest End.
type Ends struct{ last atomic.Pointer[End] }

// sharing divides the patience: a call may lose that part of it by sharing an End.
const sharing = 32

// New returns the end of the patience of one call.
func New(now time.Time, patience time.Duration) *End {
	over := make(chan struct{})
	time.AfterFunc(patience, func() { close(over) })
	return &End{now.Add(patience), over}
}

// Next returns the end of the patience of a call. All calls have the same patience.
func (e *Ends) Next(now time.Time, patience time.Duration) *End {
	if end := e.last.Load(); end != nil {
		if after := patience - end.At.Sub(now); after >= 0 && after < patience/sharing {
			return end
		}
	}
	end := New(now, patience)
	// A time without a monotonic reading belongs to a bubble of testing/synctest, whose
	// channels must not leave the bubble.
	if now != now.Round(0) {
		e.last.Store(end)
	}
	return end
}

// HeldUp reports whether this process caused the delay, by garbage collection or on a
// busy machine. The timer is late as well then, and the answer may lie in the socket
// already. Such a stall says nothing about the store.
//
// HeldUp takes the value from answered, if it comes within the grace.
func (e *End) HeldUp(answered <-chan struct{}, grace time.Duration) bool {
	if time.Since(e.At) < time.Millisecond {
		return false
	}
	select {
	case <-answered:
		return true
	case <-time.After(grace):
		return false
	}
}

// Context has the values of a call's context, and ends with its patience. Its deadline,
// which a client may set on its socket, is later: a connection outlasts a short pause of
// the store, and a stall of this process.
type Context struct {
	context.Context
	end      *End
	deadline time.Time
}

// Context returns the context of a call. Its deadline is that much later than the end.
func (e *End) Context(of context.Context, later time.Duration) Context {
	return Context{of, e, e.At.Add(later)}
}

// Deadline implements context.Context, like the methods below.
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, true }
func (c *Context) Done() <-chan struct{}       { return c.end.Over }

func (c *Context) Err() error {
	select {
	case <-c.end.Over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
