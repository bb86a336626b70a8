// Package breaker chooses between two sides: the primary while it answers, else the
// policy. It knows no store. The documentation of package fallback has its states.
package breaker

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// rounds is the number of failed rounds in a row that open the breaker. Calls that
	// began before a failure ended belong to its round.
	rounds = 3
	// silence is the minimum time without a success before the breaker opens.
	silence = 100 * time.Millisecond
	// firstProbe is the maximum time from the opening to the first probe.
	firstProbe = 100 * time.Millisecond
	// idle is how long probes go on without calls.
	idle = time.Minute
	// refusedProbes is how many probes of refused connections come in the maximum time
	// between others. They cost nothing, and a fleet returns together: a process that still
	// decides by itself beside one that asks the primary exceeds the limit.
	refusedProbes = 8
)

const (
	closed int32 = iota // in the order of fallback.State
	open
	halfOpen
)

// Breaker is closed at first. It is safe for concurrent use. All functions are required.
type Breaker struct {
	Probe func() error
	Most  time.Duration // the maximum time between probes
	Tell  func(store.Change)
	Back  func()    // runs after the breaker has closed
	Since time.Time // the time of the last change; at first the present time

	state   atomic.Int32 // becomes and leaves closed under the lock
	failed  atomic.Int32 // failed rounds in a row; changes under the lock
	met     atomic.Bool  // a call has succeeded
	called  atomic.Int64
	outages atomic.Int64

	mu      sync.Mutex
	err     error     // the last failure
	first   time.Time // the start of the first one
	ended   time.Time // the end of the last one
	wait    time.Duration
	probes  bool // a probe comes, or is under way
	changes []store.Change
	telling bool
}

// State returns the present state.
func (b *Breaker) State() int32 { return b.state.Load() }

// Closed reports whether the primary decides.
func (b *Breaker) Closed() bool { return b.State() == closed }

// Met reports whether the primary has ever answered.
func (b *Breaker) Met() bool { return b.met.Load() }

// Outages returns the number of outages so far.
func (b *Breaker) Outages() int64 { return b.outages.Load() }

// Allow reports whether a call may go to the primary.
func (b *Breaker) Allow() bool {
	if b.Closed() {
		return true
	}
	now := time.Now()
	if b.called.Swap(now.UnixNano()) < now.Add(-idle/2).UnixNano() {
		b.mu.Lock()
		if !b.Closed() && !b.probes {
			b.schedule(0)
		}
		b.mu.Unlock()
	}
	return false
}

// Succeed notes an answer of the primary.
func (b *Breaker) Succeed() {
	if !b.met.Load() {
		b.met.Store(true)
	}
	if b.failed.Load() > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed.Store(0)
	}
}

// Fail notes the failure of a call that began at an instant.
func (b *Breaker) Fail(began time.Time, err error) {
	if b.count(began, err) {
		b.deliver()
	}
}

// count counts a failure, and reports whether the breaker has opened.
func (b *Breaker) count(began time.Time, err error) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.Closed() || began.Before(b.Since) { // The call began in an earlier state.
		return false
	}
	now := time.Now()
	if b.failed.Load() == 0 {
		b.first, b.err = began, err
	} else if !errors.Is(err, os.ErrDeadlineExceeded) { // Any other error says more.
		b.err = err
	}
	if b.failed.Load() == 0 || !began.Before(b.ended) {
		b.failed.Add(1)
		b.ended = now
	}
	if enough := b.failed.Load() >= rounds && now.Sub(b.first) >= silence || !b.met.Load(); !enough && !noConnection(err) {
		return false
	}
	b.outages.Add(1)
	b.called.Store(now.UnixNano())
	b.wait = min(firstProbe, b.Most)
	b.change(open, b.err, now)
	b.schedule(0)
	return true
}

// schedule sets the timer of the next probe, after one that took a time. The lock is held.
func (b *Breaker) schedule(took time.Duration) {
	// Half of the time is random, so that processes do not probe all at once.
	wait := b.wait/2 + rand.N(b.wait/2+1)
	b.probes = true
	time.AfterFunc(max(wait-took, wait/8), b.try)
}

// change changes the side, because of an error or the end of all errors. The lock is held.
func (b *Breaker) change(to int32, err error, now time.Time) {
	b.changes = append(b.changes, store.Change{Err: err, After: now.Sub(b.Since)})
	b.Since = now
	b.failed.Store(0)
	b.state.Store(to)
}

// try probes the primary.
func (b *Breaker) try() {
	b.state.Store(halfOpen)
	start := time.Now()
	err := b.Probe()
	b.probed(time.Since(start), err)
	if err == nil {
		b.deliver()
		b.Back()
	}
}

// probed notes the outcome of a probe.
func (b *Breaker) probed(took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.probes = err, false
	now := time.Now()
	if err == nil {
		b.met.Store(true)
		b.change(closed, nil, now)
		return
	}
	b.state.Store(open)
	most := b.Most
	if noConnection(err) {
		most /= refusedProbes
	}
	if b.wait = min(2*b.wait, most); b.called.Load() >= now.Add(-idle).UnixNano() {
		b.schedule(took)
	}
}

func noConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// deliver passes all changes to the listener, in order and one at a time. The listener may
// use the breaker.
func (b *Breaker) deliver() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.telling {
		return
	}
	b.telling = true
	defer func() { b.telling = false }()
	for len(b.changes) > 0 {
		c := b.changes[0]
		b.changes = b.changes[1:]
		func() {
			b.mu.Unlock()
			defer b.mu.Lock()
			b.Tell(c)
		}()
	}
}

// Away returns the time since the primary went away, and its last error; 0 and nil while
// it is there.
func (b *Breaker) Away() (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Closed() {
		return 0, nil
	}
	return time.Since(b.Since), b.err
}
