package fallback

import (
	"sync"
	"time"
)

// Change tells that the primary store went away or is back.
type Change struct {
	// Away is true when the breaker has opened, false when it has closed.
	Away bool
	// Err is the failure that opened it; nil when it has closed.
	Err error
	// After is how long the primary was there, or away.
	After time.Duration
}

// changes are events that wait for their listener. It gets them in order, one at a time.
type changes struct {
	mu      sync.Mutex
	list    []Change
	telling bool
}

func (c *changes) add(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, change)
}

// deliver tells of all. tell may use the store.
func (c *changes) deliver(tell func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.telling {
		return
	}
	c.telling = true
	defer func() { c.telling = false }()
	for len(c.list) > 0 {
		change := c.list[0]
		c.list = c.list[1:]
		c.deliverOne(change, tell)
	}
}

// deliverOne tells of a change, without the lock meanwhile.
func (c *changes) deliverOne(change Change, tell func(Change)) {
	c.mu.Unlock()
	defer c.mu.Lock()
	tell(change)
}
