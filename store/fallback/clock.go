package fallback

import (
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// clock estimates the primary's time in microseconds. It is behind by the travel time of
// an answer.
type clock struct {
	start  time.Time
	offset atomic.Int64
}

// jitter is the maximum variation of an answer's travel time that leaves the offset
// unchanged.
const jitter = 2000

// local returns the process's time at an instant.
func (c *clock) local(at time.Time) int64 {
	return c.start.UnixMicro() + at.Sub(c.start).Microseconds()
}

// at returns the primary's time at an instant.
func (c *clock) at(t time.Time) int64 { return c.local(t) + c.offset.Load() }

func (c *clock) now() int64 { return c.at(time.Now()) }

// heard takes the primary's time from an answer that came at an instant.
func (c *clock) heard(at int64, came time.Time) {
	offset := at - c.local(came)
	if d := offset - c.offset.Load(); d > jitter || d < -jitter {
		c.offset.Store(offset)
	}
}

// standing stops the key's time at the start of a pause. The local store does not know
// the slots ahead that the primary granted.
func standing(c store.Clock) store.Clock {
	m, ok := c.(*exact.Move)
	if !ok || m.Stand > 0 || !m.Paused(m.At) {
		return c
	}
	moved := *m
	moved.Stand = m.V
	return &moved
}
