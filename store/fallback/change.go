package fallback

import (
	"sync"

	"github.com/goweir/weir/store"
)

// Change says that the primary store went away, as the breaker has opened, or came back.
type Change = store.Change

// changes are events for the listener, which gets them in order, one at a time.
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

// deliver passes all changes to tell, which may use the store.
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

// deliverOne passes one change to tell, without the lock.
func (c *changes) deliverOne(change Change, tell func(Change)) {
	c.mu.Unlock()
	defer c.mu.Lock()
	tell(change)
}
