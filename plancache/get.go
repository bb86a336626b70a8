package plancache

import (
	"context"
	"errors"
	"time"
)

// Get returns what is kept of a key, or looks it up. Requests that ask at the
// same time share one lookup: that of the first of them, and when it gives up
// since its context ended, that of another. An answer that is kept is returned
// whatever the context, and without allocating.
//
// An error is one of Lookup's, or that of ctx.
func (c *Cache[V]) Get(ctx context.Context, key string) (V, error) {
	c.mu.RLock()
	kept, found := c.answers[key]
	c.mu.RUnlock()
	if found && time.Now().Before(kept.until) {
		return kept.value, kept.err
	}
	for {
		kept, under, mine := c.join(key)
		switch {
		case under == nil:
			return kept.value, kept.err
		case mine:
			return c.lookUp(ctx, key, under, kept)
		}
		select {
		case <-under.done:
			if under.ok {
				return under.value, under.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

// join returns the answer that will do without a lookup, or the lookup to wait
// for, or one that is the caller's to make, with the stale answer to return if
// it fails.
func (c *Cache[V]) join(key string) (kept *answer[V], under *lookup[V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if a, found := c.answers[key]; found {
		stale := a.err == nil && now.Before(a.until.Add(c.cfg.Stale))
		if now.Before(a.until) || stale && (c.lookups[key] != nil || !c.mayRetry(now)) {
			return &a, nil, false
		}
		if stale {
			kept = &a
		}
	}
	if under = c.lookups[key]; under != nil {
		return nil, under, false
	}
	under = &lookup[V]{done: make(chan struct{})}
	c.lookups[key] = under
	return kept, under, true
}

// mayRetry reports whether a stale answer may be looked up: while lookups fail,
// by one caller in each span of Retry.
func (c *Cache[V]) mayRetry(now time.Time) bool {
	at, passed := c.retryAt.Load(), int64(now.Sub(c.began))
	return at == 0 || passed >= at && c.retryAt.CompareAndSwap(at, passed+int64(c.cfg.Retry))
}

// lookUp makes a lookup and tells those who wait.
func (c *Cache[V]) lookUp(ctx context.Context, key string, under *lookup[V], stale *answer[V]) (V, error) {
	defer c.finish(key, under) // also when Lookup panics: another caller then tries
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	value, err := c.cfg.Lookup(limited, key)
	switch {
	case err == nil:
		c.retryAt.Store(0)
		under.ok, under.answer = true, answer[V]{value: value, until: began.Add(c.cfg.TTL)}
		return value, nil
	case ctx.Err() != nil:
		// It failed for this caller alone, but a deadline tells of slow lookups.
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.failed(stale != nil)
		}
		return under.value, ctx.Err()
	}
	c.failed(stale != nil)
	under.ok = true
	if stale != nil {
		under.answer = *stale
		if c.cfg.OnError != nil {
			c.cfg.OnError(key, err)
		}
		return stale.value, nil
	}
	under.answer = answer[V]{err: err, until: time.Now().Add(c.cfg.Retry)}
	return under.value, err
}

// failed has stale answers returned without a lookup for a while. Where that is
// so already, only the lookup of a stale answer makes it longer.
func (c *Cache[V]) failed(stale bool) {
	at := int64(time.Since(c.began) + c.cfg.Retry)
	if stale {
		c.retryAt.Store(at)
		return
	}
	c.retryAt.CompareAndSwap(0, at)
}

// finish keeps what a lookup found, unless it was forgotten meanwhile, and lets
// those go on who wait for it.
func (c *Cache[V]) finish(key string, under *lookup[V]) {
	c.mu.Lock()
	if c.lookups[key] == under {
		delete(c.lookups, key)
		if under.ok {
			c.keep(key, under.answer)
		}
	}
	c.mu.Unlock()
	close(under.done)
}

// keep keeps an answer, but no error that would be in the place of one that is
// of use for longer. c.mu is held.
func (c *Cache[V]) keep(key string, a answer[V]) {
	if _, known := c.answers[key]; !known && len(c.answers) >= c.cfg.MaxEntries {
		first := c.firstToGo()
		if a.err != nil && c.useless(a).Before(c.useless(c.answers[first])) {
			return
		}
		delete(c.answers, first)
	}
	c.answers[key] = a
}

// useless returns when an answer will not be returned any more, even while
// lookups fail.
func (c *Cache[V]) useless(a answer[V]) time.Time {
	if a.err != nil {
		return a.until
	}
	return a.until.Add(c.cfg.Stale)
}

// fewAnswers are what firstToGo chooses among.
const fewAnswers = 8

// firstToGo returns the key whose answer is useless first, of a few that the
// map's random order gives. The exactly first one would take a list in order.
func (c *Cache[V]) firstToGo() string {
	var (
		first string
		at    time.Time
		n     int
	)
	for key, a := range c.answers {
		if t := c.useless(a); n == 0 || t.Before(at) {
			first, at = key, t
		}
		if n++; n == fewAnswers {
			break
		}
	}
	return first
}
