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

func (e *endings) next(patience time.Duration) *ending {
	now := time.Now()
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

// timed is a context with the values of a call's, which ends with its patience. The
// deadline that a client may set on its socket is later: one that passes while
// this process is held up would make it drop an answer that is there.
type timed struct {
	of       context.Context
	end      *ending
	deadline time.Time
}

func (t *timed) Deadline() (time.Time, bool) { return t.deadline, true }
func (t *timed) Done() <-chan struct{}       { return t.end.over }
func (t *timed) Value(key any) any           { return t.of.Value(key) }

func (t *timed) Err() error {
	select {
	case <-t.end.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
