package fallback

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// ErrAway is returned under Closed while the primary store is away. The
// primary's own error is wrapped beside it.
var ErrAway = errors.New("fallback: the primary store is away")

// Seeder is a local store that can be told what is known of a key.
type Seeder interface {
	// Seed sets the state of the charges' limits: what is remaining of each and
	// after how long it is as if never used. The charges are of one key. It
	// keeps neither slice.
	Seed(charges []store.Charge, states []store.ChargeState)
}

// Denier is a primary store that may know by itself that a request is refused, as
// it refused the like just now.
type Denier interface {
	// Denied returns the refusal of a valid request, and false when the store would
	// have to be asked. It asks nobody but this process's memory. of is the store that
	// the caller would ask otherwise: false is returned as well when it is not this
	// one but something around it, which would be passed by.
	Denied(of store.Store, req *store.Request) (d store.Decision, ok bool)
}

// KeyError is an error of a primary store that may concern one key alone, as
// something foreign that is stored under it. The primary has answered, so that
// is no outage: only calls for that key are decided by the policy.
type KeyError interface {
	error
	// OfOneKey reports whether calls for other keys have nothing to fear.
	OfOneKey() bool
}

// Store is a primary store with a local one behind it. It is safe for
// concurrent use.
type Store struct {
	cfg     Config
	denier  Denier        // the primary; nil: it is none
	starter store.Starter // the primary; nil: it is none
	breaker *breaker
	endings endings
	ledger  ledger
	brakes  brakes
	failed  atomic.Pointer[store.Request] // looks at what the call that failed last asked for
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It
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
	s.denier, _ = cfg.Primary.(Denier)
	s.starter, _ = cfg.Primary.(store.Starter)
	s.breaker = newBreaker(&s.cfg)
	return s, nil
}

// Take implements [store.Store].
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if req.Hold.Asked() {
		if _, _, err := s.holders(); err != nil {
			return store.Decision{}, err
		}
	}
	if s.denier != nil && s.breaker.closed.Load() {
		if d, ok := s.denied(req); ok {
			return d, nil
		}
	}
	turn, ok := s.breaker.allow(s.probe)
	if !ok {
		return s.decide(ctx, &req, nil)
	}
	a := s.attempt(&req, turn)
	d, err := a.decision(ctx)
	switch {
	case err == nil:
		return d, nil
	case refused(err):
		return store.Decision{}, err
	case ctx.Err() != nil:
		return store.Decision{}, ctx.Err()
	}
	return s.decide(ctx, &a.req, err)
}

// denied is what the primary says by itself. The request is a copy, which other
// calls need not have where an interface can keep it.
func (s *Store) denied(req store.Request) (store.Decision, bool) {
	return s.denier.Denied(s.cfg.Primary, &req)
}

// Reset implements [store.Resetter]: the key is forgotten locally, and by the
// primary, whose failure is returned.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	s.ledger.forget(id{scope, key})
	if r, ok := s.cfg.Local.(store.Resetter); ok {
		if err := r.Reset(ctx, scope, key); err != nil {
			return err
		}
	}
	r, ok := s.cfg.Primary.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	return s.within(ctx, func(ctx context.Context) error { return r.Reset(ctx, scope, key) })
}

// State returns who decides now, for a health endpoint.
func (s *Store) State() State { return s.breaker.state() }

// Away returns for how long the primary has been away and its last error; 0 and
// nil while it is there.
func (s *Store) Away() (time.Duration, error) { return s.breaker.away() }
