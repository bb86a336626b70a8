package fallback

import (
	"context"
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

// errCaller is counted neither as a success nor as a failure.
var errCaller = errors.New("the caller's context ended")

// breaker is a gobreaker that probes in the background and tells of changes
// between there and away, not of each probe.
type breaker struct {
	cfg   *Config
	cb    *gobreaker.TwoStepCircuitBreaker[struct{}]
	epoch atomic.Uint64 // counts the times the primary came back

	mu    sync.Mutex
	gone  bool
	since time.Time
	err   error
}

func newBreaker(cfg *Config) *breaker {
	b := &breaker{cfg: cfg, since: time.Now()}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     cfg.Probe,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= cfg.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errCaller) },
	})
	return b
}

// allow reports whether the primary is to be asked; done takes the outcome.
// When it is time for a probe, that is started.
func (b *breaker) allow(probe func() error) (done func(error), ok bool) {
	finish, err := b.cb.Allow()
	if err != nil {
		return nil, false
	}
	if b.cb.State() == gobreaker.StateHalfOpen {
		go func() {
			err := probe()
			finish(err)
			b.note(err)
		}()
		return nil, false
	}
	return func(err error) {
		finish(err)
		if err != nil && !errors.Is(err, errCaller) {
			b.note(err)
		}
	}, true
}

// note tells of a change, if the outcome made one.
func (b *breaker) note(err error) {
	gone := b.cb.State() != gobreaker.StateClosed
	b.mu.Lock()
	if gone {
		b.err = err
	}
	if gone == b.gone {
		b.mu.Unlock()
		return
	}
	now := time.Now()
	c := Change{Away: gone, Err: b.err, After: now.Sub(b.since)}
	b.gone, b.since = gone, now
	if !gone {
		c.Err, b.err = nil, nil
		b.epoch.Add(1)
	}
	b.mu.Unlock()
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

// probe asks the primary to decide something that nobody else is counted on,
// and that it has to write down.
func (s *Store) probe() error {
	return s.within(context.Background(), func(ctx context.Context) error {
		_, err := s.cfg.Primary.Take(ctx, probeRequest)
		return err
	})
}
