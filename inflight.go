package weir

import (
	"container/list"
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// DefaultLease is the Lease of a Config that sets none.
	DefaultLease = 30 * time.Second
	// minLease leaves a heartbeat a third of a second, which a store that is slow
	// now and then keeps to.
	minLease = time.Second
	// firstRest and longestRest are how long the head of a line waits until it
	// asks the store again, when nothing is released in this process.
	firstRest   = 5 * time.Millisecond
	longestRest = 250 * time.Millisecond
)

// flights are a Limiter's calls in flight. Nothing is kept for a key that has
// none.
type flights struct {
	limiter *Limiter
	holder  store.Holder
	most    int64
	lease   time.Duration

	mu       sync.Mutex
	keys     map[string]*flight
	held     int         // leases of all keys
	failed   int         // leases of all keys that could not be released
	heart    *time.Timer // what renews them
	beats    bool        // it is set
	renewing bool
}

// flight is what is in flight of one key. The mutex of flights guards it.
//
// A lease that this process has counts in the store too, so a call need not
// ask while there are as many as may be: it lines up, and whoever is first asks
// when one is released here. Where it is other processes that have the rest, the
// store refuses; then the first in line asks alone, and after a rest that grows.
// When it is let in, twice as many may ask at a time as before.
type flight struct {
	of     *flights
	key    string
	held   map[string]*Lease // by ID
	count  int64             // leases that the store may count: held, and on their way back
	asking int64             // calls that ask the store
	width  int64             // the most that may at once
	line   list.List         // of *claim, by arrival
	rest   time.Duration     // the next one
	wakes  *time.Timer
	rests  bool
	free   time.Time // when the store would have room at the latest, as it last said

	back    []returned // to be released
	sending bool       // a goroutine is at it
}

// claim is a call's wish for a lease.
type claim struct {
	arrival uint64
	turn    chan struct{} // closed when it may ask; nil when it never had to wait
	place   *list.Element // nil while it is not in line
	waited  bool
	refuse  bool   // it does not wait
	keep    bool   // it may be given back all the same
	late    bool   // it was granted a lease so late that it asked anew
	lease   *Lease // once it is had
}

// processID tells this process's leases from those of all others.
var (
	processID = sync.OnceValue(func() string { return rand.Text()[:16] })
	leaseIDs  atomic.Uint64
)

func newLeaseID() string { return processID() + "-" + strconv.FormatUint(leaseIDs.Add(1), 36) }

// errNoLease is the error of a method whose calls have no end.
var errNoLease = fmt.Errorf("weir: a limiter with Config.InFlight is used with Acquire, TryAcquire or Do: %w", ErrUnsupported)

// checkInFlight validates what concerns calls in flight, and sets the default.
func (c *Config) checkInFlight() error {
	_, ok := c.Store.(store.Holder)
	switch {
	case c.InFlight < 0 || c.InFlight > store.MaxUnits:
		return &ConfigError{Field: "Config.InFlight", Want: "0 to 2^50", Got: strconv.FormatInt(c.InFlight, 10)}
	case c.InFlight > 0 && !ok:
		return &ConfigError{Field: "Config.InFlight", Want: "0 with a store that is no store.Holder", Got: strconv.FormatInt(c.InFlight, 10)}
	case c.InFlight == 0 && c.Lease != 0:
		return &ConfigError{Field: "Config.Lease", Want: "0 without InFlight", Got: c.Lease.String()}
	case c.InFlight == 0:
		return nil
	case c.Lease == 0:
		c.Lease = DefaultLease
	case c.Lease < minLease || c.Lease > store.MaxLease || c.Lease%time.Microsecond != 0:
		return &ConfigError{Field: "Config.Lease", Want: "0, or whole microseconds from 1s to 1h", Got: c.Lease.String()}
	}
	return nil
}

func newFlights(l *Limiter) *flights {
	return &flights{limiter: l, holder: l.cfg.Store.(store.Holder), most: l.cfg.InFlight, lease: l.cfg.Lease, keys: make(map[string]*flight)}
}

// flight returns that of a key, a new one if there is none. The lock is held.
func (fs *flights) flight(key string) *flight {
	f := fs.keys[key]
	if f == nil {
		f = &flight{of: fs, key: key, width: math.MaxInt64, rest: firstRest}
		fs.keys[key] = f
	}
	return f
}

// mayAsk reports whether one more call may ask the store now.
func (f *flight) mayAsk() bool {
	return !f.rests && f.asking < f.width && f.count+f.asking < f.of.most
}

// advance has the first in line ask, as many as may, and ends a flight of which
// nothing is left.
func (f *flight) advance() {
	for f.line.Len() > 0 && f.mayAsk() {
		c := f.line.Front().Value.(*claim)
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

// join lets a call ask now, or puts it in line. It reports false for a call that
// would have to wait and does not.
func (f *flight) join(c *claim) bool {
	switch {
	case f.line.Len() == 0 && f.mayAsk():
		f.asking++
		return true
	case c.refuse:
		return false
	}
	f.lineUp(c)
	return true
}

// lineUp puts a call in its place in line.
func (f *flight) lineUp(c *claim) {
	c.turn, c.waited = make(chan struct{}), true
	e := f.line.Back()
	for e != nil && e.Value.(*claim).arrival > c.arrival {
		e = e.Prev()
	}
	if e == nil {
		c.place = f.line.PushFront(c)
	} else {
		c.place = f.line.InsertAfter(c, e)
	}
}

// refused has the line rest, as the store has no room, and puts the call back in
// its place.
func (f *flight) refused(c *claim, retryAfter time.Duration) {
	f.free, f.width = time.Now().Add(retryAfter), 1
	if c.refuse {
		return
	}
	f.lineUp(c)
	f.rests = true
	// Processes that were refused together must not come again together.
	in := min(f.rest/2+mathrand.N(f.rest/2), retryAfter)
	f.rest = min(2*f.rest, longestRest)
	if f.wakes == nil {
		f.wakes = time.AfterFunc(in, func() {
			f.of.mu.Lock()
			defer f.of.mu.Unlock()
			if f.rests {
				f.rests = false
				f.advance()
			}
		})
	} else {
		f.wakes.Reset(in)
	}
}

// wake ends a rest.
func (f *flight) wake() {
	if f.rests {
		f.rests = false
		f.wakes.Stop()
	}
}

// retryAfter is what a call is told that is refused without asking the store.
func (f *flight) retryAfter() time.Duration {
	if in := time.Until(f.free); in > 0 {
		return in
	}
	return f.of.lease
}

// add counts a lease that the store has granted, or may have.
func (f *flight) add(l *Lease) {
	if f.held == nil {
		f.held = make(map[string]*Lease)
	}
	f.held[l.id] = l
	f.count++
	f.of.held++
	f.of.beat()
}
