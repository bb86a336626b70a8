package weir

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// herds is what becomes of requests that leave when pauses have ended which upstreams
// asked for. A bucket that is empty has units for few of them, and asks for the next
// pause: by pauses alone it would refuse the rest after each of them, without end.
type herds struct {
	any    atomic.Bool // nobody looks before there was a pause
	shards [herdShards]herd
}

// herd is that of the key of a shard that was paused last.
type herd struct {
	mu    sync.Mutex
	key   string
	since time.Time // the end of a pause
	next  time.Time // the end of the one after; zero: there is none yet
	// Of the requests that left since, and of those after earlier pauses the more
	// the less long ago that is.
	admitted, refused int64
}

const (
	// leastRefused and refusedPart say when the requests that leave after pauses
	// are too many: as many are refused, and one in so many.
	leastRefused = 3
	refusedPart  = 4
	// mostRemembered is how many requests, after earlier pauses, count in full.
	mostRemembered = 16
)

const herdShards = 32

var herdSeed = maphash.MakeSeed()

func (h *herds) of(key string) *herd {
	return &h.shards[maphash.String(herdSeed, key)%herdShards]
}

// left returns when a request leaves, where that matters.
func (h *herds) left() (now time.Time) {
	if h.any.Load() {
		now = time.Now()
	}
	return now
}

// admit counts a request that left then and was not refused.
func (h *herds) admit(key string, left time.Time) {
	if left.IsZero() {
		return
	}
	e := h.of(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts(key, left) {
		e.admitted++
	}
}

// refuse counts a request that left then and was refused with a pause, and reports
// whether too many are.
func (h *herds) refuse(key string, left time.Time, pause time.Duration) bool {
	h.any.Store(true)
	e := h.of(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	end := time.Now().Add(pause)
	switch {
	case e.key != key:
		e.key, e.since, e.next, e.admitted, e.refused = key, end, time.Time{}, 0, 0
		return false
	case !e.counts(key, left):
		// It was under way before the pause.
		if e.next.IsZero() && end.After(e.since) {
			e.since = end
		}
		return false
	}
	e.refused++
	if end.After(e.next) {
		e.next = end
	}
	return e.refused >= leastRefused && e.refused*refusedPart > e.admitted+e.refused
}

// counts reports whether a request is of the herd, or of the next one, which it
// begins then.
func (e *herd) counts(key string, left time.Time) bool {
	if e.key != key || left.Before(e.since) {
		return false
	}
	if !e.next.IsZero() && !left.Before(e.next) {
		e.since, e.next = e.next, time.Time{}
		if e.admitted+e.refused > mostRemembered {
			e.admitted, e.refused = e.admitted/2, e.refused/2
		}
	}
	return true
}
