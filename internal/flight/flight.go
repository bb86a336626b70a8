// Package flight counts the calls in flight of one process, and keeps their
// leases alive.
//
// The leases of this process count in the store too.
//
//	leases                          calls
//	this process has all            line up and don't ask; the first one asks when
//	                                a lease is released here
//	other processes have the rest   the store refuses; the first in line asks alone, after
//	                                growing pauses. After a second it has the next place
//	the store has granted again     twice as many may ask at once as before
//
// The package talks to the store through the functions of a [Config] alone.
package flight

import (
	"container/list"
	"math"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/goweir/weir/internal/flight/internal/ended"
)

// firstPause and maxPause bound how long the first call in line waits until it
// asks the store again, while this process releases nothing. After patience it has
// the next free place.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond
	patience   = time.Second
)

// Config says how many calls may be in flight, and how leases reach the store.
// Its functions return errors that were observed already.
type Config struct {
	Max   int64         // of a key, in all processes
	Lease time.Duration // how long a lease lives unless it is renewed
	// Release ends leases of a key.
	Release func(key string, ids []string) error
	// Renew renews leases of a key, and returns the lost ones.
	Renew func(key string, ids []string) (lost []string, err error)
	// Lost is called for each lost lease that was still in use.
	Lost func(key string)
	// Stuck is called once, for the first key with Max leases of this process that are all
	// held for longer than Lease. Nil: no call.
	Stuck func()
}

// Flights holds the calls in flight of a limiter. For keys without calls it keeps the
// latest ended leases. It is safe for concurrent use.
type Flights struct {
	cfg Config

	mu    sync.Mutex
	keys  map[string]*flight
	renew func()       // the heartbeat
	heart *time.Timer  // runs it
	beats bool         // the heart is set, or a heartbeat is under way
	stuck bool         // Config.Stuck has heard of a key
	ended ended.Leases // that the store may count still
}

// Held returns the number of leases that are held.
func (fs *Flights) Held() (n int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.keys {
		n += len(f.held)
	}
	return n
}

// Count returns the number of keys with calls, and whether the heartbeat runs.
func (fs *Flights) Count() (keys int, beats bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.keys), fs.beats
}

// beat starts the heartbeat when there are calls, and stops it when there are none. A
// heartbeat under way ends by itself. The lock is held.
func (fs *Flights) beat() {
	switch {
	case len(fs.keys) == 0:
		fs.beats = !fs.heart.Stop()
	case !fs.beats:
		fs.heart, fs.beats = time.AfterFunc(fs.cfg.Lease/3, fs.renew), true
	}
}

// flight is the calls in flight of one key. The mutex of Flights guards it.
type flight struct {
	of     *Flights
	key    string
	held   map[string]time.Time // leases by ID, since then
	count  int64                // leases that the store may count: held, and on their way back
	asking int64                // calls that ask the store
	width  int64                // the maximum of those
	line   list.List            // of *place, by arrival
	pause  time.Duration        // the next one
	wakes  *time.Timer
	paused bool
	free   time.Time // when the store has room at the latest, by its last refusal

	back    []returned // leases to be released
	failed  []returned // leases that could not be released, and are not counted
	sending bool       // a goroutine releases
}

// returned is a lease on its way back to the store.
type returned struct {
	id             string
	granted, since time.Time
}

// place is a claim's place in line.
type place struct {
	arrival uint64
	turn    chan struct{} // closed when the claim may ask; nil: it never had to wait
	element *list.Element // nil while it is not in line
}

// flight returns the flight of a key, a new one if there is none. The lock is
// held.
func (fs *Flights) flight(key string) *flight {
	f := fs.keys[key]
	if f == nil {
		f = &flight{of: fs, key: key, held: make(map[string]time.Time), width: math.MaxInt64, pause: firstPause}
		fs.keys[key] = f
		fs.beat()
	}
	return f
}

// mayAsk reports whether one more call may ask the store now.
func (f *flight) mayAsk() bool {
	return !f.paused && f.asking < f.width && f.count+f.asking < f.of.cfg.Max
}

// hasReturning reports whether leases on their way back make room for one more call.
func (f *flight) hasReturning() bool {
	held := int64(len(f.held))
	return !f.paused && f.count > held && held+int64(f.line.Len())+f.asking < f.of.cfg.Max
}

// advance lets the first calls in line ask, and forgets an empty flight.
func (f *flight) advance() {
	for f.line.Len() > 0 && f.mayAsk() {
		p := f.line.Front().Value.(*place)
		f.line.Remove(p.element)
		p.element = nil
		f.asking++
		close(p.turn)
	}
	if f.line.Len() > 0 {
		return
	}
	f.wake()
	if f.count+f.asking == 0 && len(f.back)+len(f.failed) == 0 && !f.sending && f.of.keys[f.key] == f {
		delete(f.of.keys, f.key)
		f.of.beat()
	}
}

// lineUp puts a claim in its place in line.
func (f *flight) lineUp(p *place) {
	p.turn = make(chan struct{})
	e := f.line.Back()
	for e != nil && e.Value.(*place).arrival > p.arrival {
		e = e.Prev()
	}
	if e == nil {
		p.element = f.line.PushFront(p)
	} else {
		p.element = f.line.InsertAfter(p, e)
	}
}

// refused pauses the line, because the store has no room.
func (f *flight) refused(retryAfter time.Duration) {
	f.wake() // Two calls may be refused together.
	f.paused = true
	// Processes that were refused together must not come again together.
	in := min(f.pause/2+mathrand.N(f.pause/2), retryAfter)
	f.pause = min(2*f.pause, maxPause)
	f.wakes = time.AfterFunc(in, func() {
		f.of.mu.Lock()
		defer f.of.mu.Unlock()
		f.wake()
		f.advance()
	})
}

// wake ends a pause.
func (f *flight) wake() {
	if f.paused {
		f.paused = false
		f.wakes.Stop()
	}
}

// retryAfter returns the RetryAfter of a call that is refused without asking the store.
func (f *flight) retryAfter() time.Duration {
	if in := time.Until(f.free); in > 0 {
		return in
	}
	return f.of.cfg.Lease
}
