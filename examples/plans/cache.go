package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	planTTL     = time.Minute // time for which a plan is kept
	planTimeout = time.Second // maximum time of a lookup
	planRetry   = time.Second // time between two failed lookups
	maxPlans    = 10_000      // maximum of kept plans
)

// planCache keeps plans for a while, so that few requests wait for the database. While
// the database is away, a customer's last plan stays valid.
type planCache struct {
	lookup func(ctx context.Context, name string) (plan string, err error)

	shared  singleflight.Group
	mu      sync.Mutex // never held during a lookup
	kept    map[string]keptPlan
	changes int // calls of forget
}

type keptPlan struct {
	plan  string
	until time.Time
}

// plan returns a customer's plan. Requests of one customer share a lookup.
func (c *planCache) plan(ctx context.Context, name string) (string, error) {
	c.mu.Lock()
	last, known := c.kept[name]
	c.mu.Unlock()
	if known && time.Now().Before(last.until) {
		return last.plan, nil
	}
	plan, err, _ := c.shared.Do(name, func() (any, error) { return c.find(ctx, name) })
	if err != nil {
		return "", err
	}
	return plan.(string), nil
}

// find looks a plan up and keeps it.
func (c *planCache) find(ctx context.Context, name string) (string, error) {
	c.mu.Lock()
	last, known := c.kept[name]
	changes := c.changes
	c.mu.Unlock()
	// The lookup outlives the request, as other requests wait for it too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), planTimeout)
	defer cancel()
	plan, err := c.lookup(ctx, name)
	keep := keptPlan{plan, time.Now().Add(planTTL)}
	if err != nil {
		if !known {
			return "", err
		}
		keep = keptPlan{last.plan, time.Now().Add(planRetry)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if changes != c.changes {
		return keep.plan, nil // not kept: it may be older than the change
	}
	delete(c.kept, name)
	for other := range c.kept { // in random order
		if len(c.kept) < maxPlans {
			break
		}
		delete(c.kept, other)
	}
	c.kept[name] = keep
	return keep.plan, nil
}

// forget makes a customer's next request look the plan up. Other replicas use the old
// plan for up to planTTL.
func (c *planCache) forget(name string) {
	c.mu.Lock()
	delete(c.kept, name)
	c.changes++
	c.mu.Unlock()
	c.shared.Forget(name)
}
