// Package flight counts the calls in flight of one process, and keeps their
// leases alive.
//
// The leases of this process count in the store too.
//
//	leases                          calls
//	this process has all            line up and don't ask; the first one asks when
//	                                a lease is released here
//	other processes have the rest   the store refuses; the first in line asks alone,
//	                                after a pause that grows
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
)

// firstPause and maxPause bound how long the first call in line waits until it
// asks the store again, while this process releases nothing.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond
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

// Flights holds the calls in flight of a limiter. It keeps nothing for a key
// without calls. It is safe for concurrent use.
type Flights struct {
	cfg Config

	mu       sync.Mutex
	keys     map[string]*flight
	held     int         // leases of all keys
	failed   int         // leases of all keys that could not be released
	heart    *time.Timer // renews them
	beats    bool        // the heart is set
	renewing bool
	stuck    bool // Config.Stuck has heard of a key
}

// New returns Flights without calls.
func New(cfg Config) *Flights {
	return &Flights{cfg: cfg, keys: make(map[string]*flight)}
}

// Held returns the number of leases that are held.
func (fs *Flights) Held() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.held
}

// flight is the calls in flight of one key. The mutex of Flights guards it.
type flight struct {
	of     *Flights
	key    string
	held   map[string]*Lease // by ID
	count  int64             // leases that the store may count: held, and on their way back
	asking int64             // calls that ask the store
	width  int64             // the maximum of those
	line   list.List         // of *Claim, by arrival
	pause  time.Duration     // the next one
	wakes  *time.Timer
	paused bool
	free   time.Time // when the store has room at the latest, by its last refusal

	back    []returned // to be released
	sending bool       // a goroutine releases
}

// flight returns the flight of a key, a new one if there is none. The lock is
// held.
func (fs *Flights) flight(key string) *flight {
	f := fs.keys[key]
	if f == nil {
		f = &flight{of: fs, key: key, width: math.MaxInt64, pause: firstPause}
		fs.keys[key] = f
	}
	return f
}

// mayAsk reports whether one more call may ask the store now.
func (f *flight) mayAsk() bool {
	return !f.paused && f.asking < f.width && f.count+f.asking < f.of.cfg.Max
}

// advance lets the first calls in line ask, and forgets an empty flight.
func (f *flight) advance() {
	for f.line.Len() > 0 && f.mayAsk() {
		c := f.line.Front().Value.(*Claim)
		f.line.Remove(c.place)
		c.place = nil
		f.asking++
		close(c.turn)
	}
	if f.line.Len() == 0 {
		f.wake()
		if f.count+f.asking == 0 && len(f.back) == 0 && !f.sending {
			delete(f.of.keys, f.key)
		}
	}
}

// lineUp puts a call in its place in line.
func (f *flight) lineUp(c *Claim) {
	c.turn = make(chan struct{})
	e := f.line.Back()
	for e != nil && e.Value.(*Claim).Arrival > c.Arrival {
		e = e.Prev()
	}
	if e == nil {
		c.place = f.line.PushFront(c)
	} else {
		c.place = f.line.InsertAfter(c, e)
	}
}

// refused pauses the line, because the store has no room.
func (f *flight) refused(retryAfter time.Duration) {
	f.paused = true
	// Processes that were refused together must not come again together.
	in := min(f.pause/2+mathrand.N(f.pause/2), retryAfter)
	f.pause = min(2*f.pause, maxPause)
	if f.wakes == nil {
		f.wakes = time.AfterFunc(in, func() {
			f.of.mu.Lock()
			defer f.of.mu.Unlock()
			if f.paused {
				f.paused = false
				f.advance()
			}
		})
	} else {
		f.wakes.Reset(in)
	}
}

// wake ends a pause.
func (f *flight) wake() {
	if f.paused {
		f.paused = false
		f.wakes.Stop()
	}
}

// granted lets more calls ask at once.
func (f *flight) granted() {
	f.pause = firstPause
	if f.width < f.of.cfg.Max {
		f.width *= 2
	}
}

// retryAfter returns the RetryAfter of a call that is refused without asking the store.
func (f *flight) retryAfter() time.Duration {
	if in := time.Until(f.free); in > 0 {
		return in
	}
	return f.of.cfg.Lease
}
