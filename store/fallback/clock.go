package fallback

import (
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// clock estimates the primary's time in microseconds. It trusts this process's clock, until
// an answer disproves it.
type clock struct {
	start  time.Time
	offset atomic.Int64
}

// local returns the process's time at an instant.
func (c *clock) local(at time.Time) int64 {
	return c.start.UnixMicro() + at.Sub(c.start).Microseconds()
}

// at returns the primary's time at an instant.
func (c *clock) at(t time.Time) int64 { return c.local(t) + c.offset.Load() }

func (c *clock) now() int64 { return c.at(time.Now()) }

// heard takes the primary's time from an answer. The primary has read its clock after the
// question and before the answer.
func (c *clock) heard(at int64, asked, came time.Time) {
	least, most := at-c.local(came), at-c.local(asked)
	if offset := c.offset.Load(); offset < least || offset > most {
		c.offset.Store(least + (most-least)/2)
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
