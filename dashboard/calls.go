package dashboard

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxWaits bounds the waits with a memory of their own, at 24 bytes each.
	maxWaits = 100_000
	// maxWaitKeys bounds the keys of remembered waits.
	maxWaitKeys = 10_000
)

// waits remembers the waiting calls of this process, by key. It is safe for concurrent
// use.
type waits struct {
	mu    sync.Mutex
	keys  map[fullKey][]time.Time // when waits began, the oldest first
	count int
}

type waitOf struct {
	calls  int
	oldest time.Time
}

func (w *waits) begin(k fullKey, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.keys[k]
	if w.count >= maxWaits || !ok && len(w.keys) >= maxWaitKeys {
		return
	}
	if w.keys == nil {
		w.keys = map[fullKey][]time.Time{}
	}
	w.keys[k] = append(list, now)
	w.count++
}

// end removes the wait of a key that began at about a time.
func (w *waits) end(k fullKey, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.keys[k]
	if len(list) == 0 {
		return // It was over a bound.
	}
	i, _ := slices.BinarySearchFunc(list, began, time.Time.Compare)
	if i == len(list) || i > 0 && began.Sub(list[i-1]) < list[i].Sub(began) {
		i--
	}
	w.count--
	if len(list) == 1 {
		delete(w.keys, k)
		return
	}
	w.keys[k] = slices.Delete(list, i, i+1)
}

func (w *waits) copy() map[fullKey]waitOf {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[fullKey]waitOf, len(w.keys))
	for k, list := range w.keys {
		all[k] = waitOf{len(list), list[0]}
	}
	return all
}

type fullKey struct{ limiter, key string }

const (
	maxHot  = 256
	hotHalf = 30 * time.Second
	// maxKeptKey bounds a remembered key, in bytes. Redis has hashes in place of longer ones.
	maxKeptKey = 1024
	// oneIn is how rarely a new key gets a place when all are taken: to find one takes a
	// microsecond.
	oneIn = 64
)

// hot counts the calls of this process by key, for about the last minute. It is safe for
// concurrent use. A call never waits for another one; it is left out instead.
//
// It is the Space-Saving algorithm of Metwally, Agrawal and Abbadi (2005): a new key
// takes the place, and the count, of the key with the fewest calls. Every 30 seconds the
// counts are halved.
type hot struct {
	mu     sync.Mutex
	counts map[fullKey]*hotCount
	halved time.Time
}

type hotCount struct{ calls, refused int64 }

func (h *hot) add(k fullKey, refused bool, now time.Time) {
	if len(k.key) > maxKeptKey || !h.mu.TryLock() {
		return
	}
	defer h.mu.Unlock()
	h.halve(now)
	c := h.counts[k]
	if c == nil {
		if len(h.counts) >= maxHot && rand.Uint32()%oneIn != 0 {
			return
		}
		c = h.place()
		k.key = strings.Clone(k.key) // A key may be part of a large text.
		h.counts[k] = c
	}
	c.calls++
	if refused {
		c.refused++
	}
}

// place returns a new count. When all places are taken it is that of the smallest key.
func (h *hot) place() *hotCount {
	if h.counts == nil {
		h.counts = make(map[fullKey]*hotCount, maxHot)
	}
	if len(h.counts) < maxHot {
		return &hotCount{}
	}
	var least fullKey
	var fewest *hotCount
	for k, c := range h.counts {
		if fewest == nil || c.calls < fewest.calls {
			least, fewest = k, c
		}
	}
	delete(h.counts, least)
	return &hotCount{calls: fewest.calls, refused: fewest.refused}
}

func (h *hot) halve(now time.Time) {
	times := int(now.Sub(h.halved) / hotHalf)
	if times == 0 {
		return
	}
	if h.halved.IsZero() || times > 20 {
		times = 20
		clear(h.counts)
	}
	h.halved = now
	for k, c := range h.counts {
		c.calls >>= times
		c.refused >>= times
		if c.calls == 0 {
			delete(h.counts, k)
		}
	}
}

func (h *hot) copy(now time.Time) map[fullKey]hotCount {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halve(now)
	counts := make(map[fullKey]hotCount, len(h.counts))
	for k, c := range h.counts {
		counts[k] = *c
	}
	return counts
}
