package fallback

import (
	"sync/atomic"
	"time"
)

// clock is the primary's time in microseconds, as far as this process knows it: as late
// as an answer takes to come.
type clock struct {
	start  time.Time
	epoch  int64
	offset atomic.Int64
}

// jitter is how much answers may come sooner or later without a change of the offset.
const jitter = 2000

func (c *clock) open() { c.start = time.Now(); c.epoch = c.start.UnixMicro() }

func (c *clock) local() int64 { return c.epoch + time.Since(c.start).Microseconds() }

func (c *clock) now() int64 { return c.local() + c.offset.Load() }

// heard notes the primary's time in an answer that has just come.
func (c *clock) heard(at int64) {
	offset := at - c.local()
	if d := offset - c.offset.Load(); d > jitter || d < -jitter {
		c.offset.Store(offset)
	}
}
