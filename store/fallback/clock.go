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

// read returns this process's time. It takes half as long as time.Now, and never steps.
func (c *clock) read() time.Time { return c.start.Add(time.Since(c.start)) }

// at returns the primary's time at an instant that was read.
func (c *clock) at(t time.Time) int64 { return t.UnixMicro() + c.offset.Load() }

func (c *clock) now() int64 { return c.at(c.read()) }

// heard takes the primary's time from an answer that has just come. The primary has read
// its clock after the question and before the answer. Within 1 ms the estimate stays.
func (c *clock) heard(at int64, asked time.Time) {
	if ahead := at - c.at(asked); ahead >= 0 && ahead < 1000 {
		return
	}
	least, most := at-c.read().UnixMicro(), at-asked.UnixMicro()
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
