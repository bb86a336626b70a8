package fallback

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// State says which side decides.
type State uint8

const (
	StateClosed   State = iota // the primary decides
	StateOpen                  // the policy decides
	StateHalfOpen              // the policy decides while the primary is probed

	states
)

var stateNames = [states]string{"closed", "open", "half_open"}

// String returns the state in lower case with underscores, fit for a metric's label.
func (s State) String() string {
	if s >= states {
		return "unknown"
	}
	return stateNames[s]
}

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

// breaker chooses the deciding side. The package documentation has its states.
type breaker struct {
	probe func() error
	most  time.Duration // the maximum time between probes
	tell  func(Change)
	back  func() // runs after the breaker has closed

	closed  atomic.Bool
	failing atomic.Bool // a call has failed, and none succeeded since
	met     atomic.Bool // a call has succeeded
	called  atomic.Int64
	outages atomic.Int64 // number so far

	mu     sync.Mutex
	st     State
	since  time.Time // the time of the last change
	err    error     // the last failure
	failed int       // failed rounds in a row
	first  time.Time // the start of the first one
	ended  time.Time // the end of the last one
	wait   time.Duration
	timer  *time.Timer // nil: it has stopped
	told   changes
}

func (b *breaker) open(now time.Time) {
	b.since = now
	b.closed.Store(true)
}

func (b *breaker) isClosed() bool { return b.closed.Load() }

// allow reports whether a call may go to the primary.
func (b *breaker) allow() bool {
	if b.closed.Load() {
		return true
	}
	now := time.Now()
	if b.called.Swap(now.UnixNano()) < now.Add(-idle/2).UnixNano() {
		b.mu.Lock()
		if b.st == StateOpen && b.timer == nil {
			b.schedule(0)
		}
		b.mu.Unlock()
	}
	return false
}

// succeed notes an answer of the primary.
func (b *breaker) succeed() {
	if !b.met.Load() {
		b.met.Store(true)
	}
	if !b.failing.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing.Store(false)
	b.failed = 0
}

// fail notes the failure of a call that began at an instant.
func (b *breaker) fail(began time.Time, err error) {
	b.mu.Lock()
	b.err = err
	now := time.Now()
	switch {
	case b.st != StateClosed || began.Before(b.since): // The call began in an earlier state.
		b.mu.Unlock()
		return
	case b.failed > 0 && began.Before(b.ended):
	default:
		if b.failing.Store(true); b.failed == 0 {
			b.first = began
		}
		b.failed++
		b.ended = now
	}
	enough := b.failed >= rounds && now.Sub(b.first) >= silence || b.failed > 0 && !b.met.Load()
	if enough || noConnection(err) {
		b.st = StateOpen
		b.outages.Add(1)
		b.closed.Store(false)
		b.called.Store(now.UnixNano())
		b.wait = min(firstProbe, b.most)
		b.schedule(0)
		b.change(Change{Away: true, Err: err, After: now.Sub(b.since)}, now)
	}
	b.mu.Unlock()
	b.told.deliver(b.tell)
}

// schedule sets the timer of the next probe. took is the time that the last probe took.
// The lock is held.
func (b *breaker) schedule(took time.Duration) {
	// Half of the time is random, so that processes do not probe all at once.
	wait := b.wait/2 + rand.N(b.wait/2+1)
	b.timer = time.AfterFunc(max(wait-took, wait/8), b.try)
}

func (b *breaker) change(c Change, now time.Time) {
	b.since, b.failed = now, 0
	b.failing.Store(false)
	b.told.add(c)
}

// try probes the primary.
func (b *breaker) try() {
	b.mu.Lock()
	b.st = StateHalfOpen
	b.mu.Unlock()
	start := time.Now()
	err := b.probe()
	b.mu.Lock()
	now := time.Now()
	if err != nil {
		b.st, b.err = StateOpen, err
		most := b.most
		if noConnection(err) {
			most /= refusedProbes
		}
		if b.wait = min(2*b.wait, most); b.called.Load() < now.Add(-idle).UnixNano() {
			b.timer = nil
		} else {
			b.schedule(now.Sub(start))
		}
	} else {
		b.st, b.err, b.timer = StateClosed, nil, nil
		b.met.Store(true)
		b.change(Change{After: now.Sub(b.since)}, now)
		b.closed.Store(true)
	}
	b.mu.Unlock()
	if err == nil {
		b.told.deliver(b.tell)
		b.back()
	}
}

func noConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func (b *breaker) state() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.st
}

// away returns the time since the primary went away, and its last error.
func (b *breaker) away() (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.st == StateClosed {
		return 0, nil
	}
	return time.Since(b.since), b.err
}
