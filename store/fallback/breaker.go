package fallback

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// State is who decides.
type State uint8

const (
	StateClosed   State = iota // the primary decides
	StateOpen                  // the policy decides
	StateHalfOpen              // the policy decides while the primary is probed
)

// String returns the state in lower case with underscores, fit for a metric's
// label.
func (s State) String() string { return [...]string{"closed", "open", "half_open"}[s] }

// Change tells that the primary store went away or is back.
type Change struct {
	// Away is true when the breaker has opened, false when it has closed.
	Away bool
	// Err is the failure that opened it; nil when it has closed.
	Err error
	// After is how long the primary was there, or away.
	After time.Duration
}

// firstRounds is how often the first calls of a process, those that began before
// one of them ended, are one failure together when they have no answer in time: they
// wait for the same connections. Those that come next may wait for connections as
// well, which are made while the first ones come to an end.
const firstRounds = 2

// breaker is a gobreaker that probes in the background and tells of changes
// between there and away, not of each probe.
type breaker struct {
	cfg     *Config
	cb      *gobreaker.TwoStepCircuitBreaker[struct{}]
	probing atomic.Bool   // the gobreaker is half-open
	closed  atomic.Bool   // the gobreaker is closed
	left    atomic.Uint64 // counts the times when it did not stay so
	failing atomic.Bool   // a call has failed, and none succeeded since
	rounds  atomic.Uint32 // of the first calls: see firstRounds
	epoch   atomic.Uint64 // counts the times the primary may have lost its memory

	mu      sync.Mutex
	gone    bool
	since   time.Time
	err     error
	untold  []Change
	telling bool
}

func newBreaker(cfg *Config) *breaker {
	b := &breaker{cfg: cfg, since: time.Now()}
	b.epoch.Store(1) // so that there is one before it
	b.closed.Store(true)
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     cfg.open(),
		ReadyToTrip: func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= cfg.Failures },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.left.Add(1) // before a call could find it closed no more
			b.closed.Store(to == gobreaker.StateClosed)
			b.probing.Store(to == gobreaker.StateHalfOpen)
		},
	})
	return b
}

// turn is a call's leave to ask the primary.
type turn struct {
	of     *breaker
	left   uint64
	round  uint32      // those that had ended
	finish func(error) // nil: the gobreaker was not asked, as it was closed
}

// allow reports whether the primary is to be asked; the turn takes the outcome.
// When it is time for a probe, that is started.
//
// The gobreaker, which locks, hears of failures only, and of the first success
// after them: its state is not changed by others.
func (b *breaker) allow(probe func() error) (t turn, ok bool) {
	t = turn{of: b, left: b.left.Load(), round: b.rounds.Load()}
	if b.closed.Load() {
		return t, true
	}
	finish, err := b.cb.Allow()
	if err != nil {
		return t, false
	}
	if b.probing.Load() {
		go func() {
			err := probe()
			if err == nil {
				// Before the first call that goes to the primary again.
				b.epoch.Add(1)
			}
			finish(err)
			b.note(err)
		}()
		return t, false
	}
	t.finish = finish
	return t, true
}

// done tells of the outcome of a call.
func (t *turn) done(err error) {
	b := t.of
	if t.round < firstRounds && errors.Is(err, errBudget) && !b.rounds.CompareAndSwap(t.round, t.round+1) {
		return // Another of its round was the failure.
	}
	if err == nil {
		if b.rounds.Load() < firstRounds {
			b.rounds.Store(firstRounds)
		}
		if t.finish != nil || b.failing.Load() && t.left == b.left.Load() {
			b.failing.Store(false)
			t.count(nil)
		}
		return
	}
	t.count(err)
	b.failing.Store(true)
	if !errors.Is(err, errBudget) {
		// The primary may be another than before, even if it is back before
		// the breaker opens.
		b.epoch.Add(1)
	}
	b.note(err)
}

// count has the gobreaker count an outcome, unless it has not been closed all the
// time since the call began: then that says nothing of what is now.
func (t *turn) count(err error) {
	b, finish := t.of, t.finish
	if finish == nil && t.left == b.left.Load() {
		if finish, _ = b.cb.Allow(); t.left != b.left.Load() {
			err = errBudget // It was the turn of a probe, which it is no answer to.
		}
	}
	if finish != nil {
		finish(err)
	}
}

// note tells of a change, if the outcome made one.
func (b *breaker) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone := b.cb.State() != gobreaker.StateClosed
	if gone && err != nil {
		b.err = err
	}
	if gone == b.gone {
		return
	}
	now := time.Now()
	c := Change{Away: gone, After: now.Sub(b.since)}
	b.gone, b.since = gone, now
	if gone {
		c.Err = b.err
	} else {
		b.err = nil
	}
	b.untold = append(b.untold, c)
	if b.telling {
		return
	}
	// Changes are told of in their order, one at a time, and without the lock:
	// whoever is told may well ask for the state.
	b.telling = true
	defer func() { b.telling = false }()
	for len(b.untold) > 0 {
		c := b.untold[0]
		b.untold = b.untold[1:]
		b.tell(c)
	}
}

// tell tells of a change. The lock is held, and let go meanwhile.
func (b *breaker) tell(c Change) {
	b.mu.Unlock()
	defer b.mu.Lock()
	if c.Away {
		b.cfg.Logger.Warn("weir: the primary store is away", "error", c.Err, "after", c.After)
	} else {
		b.cfg.Logger.Info("weir: the primary store is back", "after", c.After)
	}
	if b.cfg.OnChange != nil {
		b.cfg.OnChange(c)
	}
}

func (b *breaker) state() State {
	switch b.cb.State() {
	case gobreaker.StateOpen:
		return StateOpen
	case gobreaker.StateHalfOpen:
		return StateHalfOpen
	}
	return StateClosed
}

func (b *breaker) away() (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gone {
		return 0, nil
	}
	return time.Since(b.since), b.err
}
