package fallback

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// Take implements [store.Store].
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	if s.primary == nil {
		return store.Decision{}, &store.ConfigError{Field: "fallback.Store", Want: "one made by New", Got: "a zero one"}
	}
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if _, err := s.holder(); req.Hold.Asked() && err != nil {
		return store.Decision{}, err
	}
	if !s.breaker.Allow() {
		return s.decide(ctx, &req, nil)
	}
	a := s.attempt(&req)
	err := a.decide(ctx)
	switch {
	case err == nil:
		d := a.d
		a.free()
		return d, nil
	case refused(err):
		return store.Decision{}, err
	case ctx.Err() != nil:
		return store.Decision{}, ctx.Err()
	}
	return s.decide(ctx, &a.req, err)
}

// Reset implements [store.Resetter]. Both stores forget the key. It returns the first
// error.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	r, ok := s.cfg.Primary.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	s.memory.Forget(scope, key)
	if err := s.local.Reset(ctx, scope, key); err != nil {
		return err
	}
	return s.within(ctx, func(ctx context.Context) error { return r.Reset(ctx, scope, key) })
}

// State says which side decides.
type State uint8

const (
	StateClosed   State = iota // the primary decides
	StateOpen                  // the policy decides
	StateHalfOpen              // the policy decides while the primary is probed
)

var stateNames = [...]string{"closed", "open", "half_open", "unknown"}

// String returns the state in lower case with underscores, fit for a metric's label.
func (s State) String() string { return stateNames[min(int(s), len(stateNames)-1)] }

// State returns the breaker's state, for a health endpoint. A zero Store is closed.
func (s *Store) State() State { return State(s.breaker.State()) }

// Away returns how long the primary has been away and its last error; 0 and nil while it
// is there.
func (s *Store) Away() (time.Duration, error) { return s.breaker.Away() }
