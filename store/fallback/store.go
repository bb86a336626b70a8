package fallback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// ErrAway is returned under Closed while the primary store is away. The
// primary's own error is wrapped beside it.
var ErrAway = errors.New("fallback: the primary store is away")

// Seeder is a local store that can be told what is known of a key.
type Seeder interface {
	// Seed sets the state of the charges' limits: what is remaining of each and
	// after how long it is as if never used. The charges are of one key.
	Seed(charges []weir.Charge, states []weir.ChargeState)
}

// Store is a primary store with a local one behind it. It is safe for
// concurrent use.
type Store struct {
	cfg     Config
	breaker *breaker
	ledger  ledger
}

var (
	_ weir.Store    = (*Store)(nil)
	_ weir.Canceler = (*Store)(nil)
	_ weir.Resetter = (*Store)(nil)
)

// New returns a Store, or a *weir.ConfigError that names the wrong field. It
// does no I/O: it returns at once whether or not the primary is there.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.defaults()
	if cfg.Local == nil {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			return nil, err
		}
		cfg.Local = local
	}
	s := &Store{cfg: cfg}
	s.breaker = newBreaker(&s.cfg)
	return s, nil
}

// Take implements [weir.Store].
func (s *Store) Take(ctx context.Context, req weir.Request) (weir.Decision, error) {
	if err := ctx.Err(); err != nil {
		return weir.Decision{}, err
	}
	if err := req.Validate(); err != nil {
		return weir.Decision{}, err
	}
	done, ok := s.breaker.allow(s.probe)
	if !ok {
		return s.decide(ctx, &req)
	}
	// The call may outlast its caller, who then uses the charges for another.
	req.Charges = append([]weir.Charge(nil), req.Charges...)
	epoch := s.breaker.epoch.Load()
	if err := s.settle(ctx, req.Charges, epoch); err != nil {
		return s.failed(ctx, &req, err, done)
	}
	d, err := s.ask(ctx, req)
	if err != nil {
		return s.failed(ctx, &req, err, done)
	}
	done(nil)
	s.learn(&req, &d, epoch)
	if d.Receipt != nil {
		d.Receipt = receipt{primary: true, of: d.Receipt}
	}
	return d, nil
}

// failed decides what the primary did not: locally, unless the failure is the
// caller's or its request's own.
func (s *Store) failed(ctx context.Context, req *weir.Request, err error, done func(error)) (weir.Decision, error) {
	switch {
	case ctx.Err() != nil:
		done(errCaller)
		return weir.Decision{}, ctx.Err()
	case errors.Is(err, weir.ErrConfig), errors.Is(err, weir.ErrUnsupported):
		done(nil)
		return weir.Decision{}, err
	}
	done(err)
	return s.decide(ctx, req)
}

// ask asks the primary within the budget.
func (s *Store) ask(ctx context.Context, req weir.Request) (weir.Decision, error) {
	var d weir.Decision
	err := s.within(ctx, func(ctx context.Context) (err error) {
		d, err = s.cfg.Primary.Take(ctx, req)
		return err
	})
	if err != nil {
		return weir.Decision{}, err
	}
	return d, nil
}

// errBudget is what a call that took too long fails with.
var errBudget = errors.New("fallback: no answer within the budget")

// within runs f for as long as the budget lasts. f goes on by itself when it is
// not done by then, so it must not touch anything of the caller's; its context
// is over.
func (s *Store) within(ctx context.Context, f func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, s.cfg.Budget)
	defer cancel()
	end := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				end <- fmt.Errorf("fallback: the primary store panicked: %v", r)
			}
		}()
		end <- f(timed)
	}()
	select {
	case err := <-end:
		if err != nil && timed.Err() != nil && ctx.Err() == nil {
			return errBudget
		}
		return err
	case <-timed.Done():
		if err := ctx.Err(); err != nil {
			return err
		}
		return errBudget
	}
}

// receipt says which store granted.
type receipt struct {
	primary bool
	of      any
}

// Cancel implements [weir.Canceler]. What the primary granted goes back to it
// if it is there; while it is away, that unit stays used.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, ok := of.(receipt)
	if !ok {
		return fmt.Errorf("fallback: cancel: a receipt of type %T is not of this store", of)
	}
	store := s.cfg.Local
	if r.primary {
		store = s.cfg.Primary
	}
	c, ok := store.(weir.Canceler)
	switch {
	case !ok:
		return weir.ErrUnsupported
	case !r.primary:
		return c.Cancel(ctx, r.of)
	case s.State() != StateClosed:
		return nil
	}
	return s.within(ctx, func(ctx context.Context) error { return c.Cancel(ctx, r.of) })
}

// Reset implements [weir.Resetter]: the key is forgotten locally, and by the
// primary, whose failure is returned.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	s.ledger.forget(id{scope, key})
	if r, ok := s.cfg.Local.(weir.Resetter); ok {
		if err := r.Reset(ctx, scope, key); err != nil {
			return err
		}
	}
	r, ok := s.cfg.Primary.(weir.Resetter)
	if !ok {
		return weir.ErrUnsupported
	}
	return s.within(ctx, func(ctx context.Context) error { return r.Reset(ctx, scope, key) })
}

// State returns who decides now, for a health endpoint.
func (s *Store) State() State { return s.breaker.state() }

// Away returns for how long the primary has been away and its last error; 0 and
// nil while it is there.
func (s *Store) Away() (time.Duration, error) { return s.breaker.away() }
