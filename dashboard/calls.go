package dashboard

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxKeys bounds the remembered keys. Calls that do not wait take maxHot of the places.
	maxKeys = 1000
	maxHot  = 256
	// maxKeptKey bounds a remembered key, in bytes. Redis has hashes in place of longer ones.
	maxKeptKey = 1024
	// maxWaits bounds the remembered waits, at 24 bytes each.
	maxWaits = 100_000
	// hotHalf is the time after which counts of calls are halved.
	hotHalf = 30 * time.Second
	// oneIn is how rarely a call of a new key takes a place when all are taken: to find one
	// takes some microseconds.
	oneIn = 64
)

type fullKey struct{ limiter, key string }

// calls remembers the calls of this process by key. It is safe for concurrent use.
type calls struct {
	mu     sync.Mutex
	keys   map[fullKey]*keyCalls
	waits  int // of all keys
	halved time.Time
}

// keyCalls are the calls of a key.
type keyCalls struct {
	calls, refused int64       // of about the last minute
	waits          []time.Time // when waits began, the oldest first
	reason         string      // for a slower key; empty: none
	ends           time.Time   // of the reason
}

// of returns the calls of a key; nil if there are already so many keys. Keys without calls
// for about a minute make room. The caller holds mu.
func (c *calls) of(k fullKey, now time.Time, most int) *keyCalls {
	c.halve(now)
	key := c.keys[k]
	if key == nil && len(c.keys) < most && len(k.key) <= maxKeptKey {
		if c.keys == nil {
			c.keys = map[fullKey]*keyCalls{}
		}
		k.key = strings.Clone(k.key) // A key may be part of a large text.
		key = &keyCalls{}
		c.keys[k] = key
	}
	return key
}

func (c *calls) halve(now time.Time) {
	times := int(now.Sub(c.halved) / hotHalf)
	if times == 0 {
		return
	}
	c.halved = now
	for k, key := range c.keys {
		key.calls >>= min(times, 63)
		key.refused >>= min(times, 63)
		if key.calls == 0 && len(key.waits) == 0 && !key.ends.After(now) {
			delete(c.keys, k)
		}
	}
}

// add counts a call. It never waits for another call; it is left out instead.
func (c *calls) add(k fullKey, refused bool, now time.Time) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	key := c.of(k, now, maxHot)
	if key == nil && rand.Uint32()%oneIn == 0 {
		key = c.replace(k, now)
	}
	if key != nil {
		key.calls++
		if refused {
			key.refused++
		}
	}
}

// replace gives a key the place, and the number of calls, of the key with the fewest: the
// Space-Saving algorithm of Metwally, Agrawal and Abbadi (2005). Keys with waits or a reason
// keep theirs.
func (c *calls) replace(k fullKey, now time.Time) *keyCalls {
	var last fullKey
	var fewest *keyCalls
	for other, key := range c.keys {
		if len(key.waits) == 0 && !key.ends.After(now) && (fewest == nil || key.calls < fewest.calls) {
			last, fewest = other, key
		}
	}
	if fewest == nil || len(k.key) > maxKeptKey {
		return nil
	}
	delete(c.keys, last)
	key := c.of(k, now, len(c.keys)+1)
	key.calls = fewest.calls
	return key
}

func (c *calls) begin(k fullKey, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := c.of(k, now, maxKeys); key != nil && c.waits < maxWaits {
		key.waits = append(key.waits, now)
		c.waits++
	}
}

// end removes the wait of a key that began at about a time.
func (c *calls) end(k fullKey, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.keys[k]
	if key == nil || len(key.waits) == 0 {
		return // It was over a bound.
	}
	i, _ := slices.BinarySearchFunc(key.waits, began, time.Time.Compare)
	if i == len(key.waits) || i > 0 && began.Sub(key.waits[i-1]) < key.waits[i].Sub(began) {
		i--
	}
	key.waits = slices.Delete(key.waits, i, i+1)
	c.waits--
}

// slow remembers until a time why this process slowed a key down. The reason of a pause
// wins over that of a lower rate. An empty reason removes the last one.
func (c *calls) slow(k fullKey, reason string, pauses bool, now, ends time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := c.of(k, now, maxKeys); key != nil && (pauses || key.reason == reason || !key.ends.After(now)) {
		key.reason, key.ends = reason, ends
	}
}

// hereOf are the calls of a key at a moment.
type hereOf struct {
	calls, refused int64
	waiting        int
	oldest         time.Time
	reason         string
}

func (c *calls) copy(now time.Time) map[fullKey]hereOf {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halve(now)
	all := make(map[fullKey]hereOf, len(c.keys))
	for k, key := range c.keys {
		h := hereOf{calls: key.calls, refused: key.refused, waiting: len(key.waits)}
		if h.waiting > 0 {
			h.oldest = key.waits[0]
		}
		if key.ends.After(now) {
			h.reason = key.reason
		}
		all[k] = h
	}
	return all
}
