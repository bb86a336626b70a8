package fallback

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// ErrAway is the error of calls under Closed while the primary store is away. It wraps
// the primary's own error as well.
var ErrAway = errors.New("fallback: the primary store is away")

// Seeder is a local store that takes over the state of a key.
type Seeder interface {
	// Seed sets the state of a key to m. m.At is the present instant by the clock of m.
	Seed(m store.Memory)
}

// primary is a primary store that restores. plain makes one of any other store.
type primary interface {
	store.Store
	store.Restorer
}

// id is a key in a scope.
type id struct{ scope, key string }

// Denier is a primary store that remembers refusals, and can refuse a like request
// without a call.
type Denier interface {
	// Denied returns the refusal of a valid request, or false when the store has to be
	// asked. It reads this process's memory alone. of is the store that the caller would
	// ask. If of is not this store but a wrapper around it, Denied returns false: the
	// wrapper must see the call.
	Denied(of store.Store, req *store.Request) (d store.Decision, ok bool)
}

// KeyError is an error of a primary store that may concern one key alone, such as a
// foreign value under that key. The primary has answered, so this is no outage. The
// policy decides calls for that key only.
type KeyError interface {
	error
	// OfOneKey reports whether calls for other keys are safe.
	OfOneKey() bool
}

// Store is a primary store with a local one behind it. It is safe for
// concurrent use.
type Store struct {
	cfg       Config
	denier    Denier // the primary, like starter; nil: it is none
	primary   primary
	starter   store.Starter
	seeder    Seeder // the local store; nil: it is none
	clock     clock
	breaker   breaker
	endings   endings
	memory    memory
	restoring atomic.Bool  // restoreAll runs
	waits     atomic.Bool  // soon has set a timer
	tries     atomic.Int32 // of restoreAll that failed in a row
	lostAt    atomic.Int64 // the last loss, by the process's clock
	brakes    brakes
	failed    atomic.Pointer[store.Request] // looks at the keys of the last failed call
	alone     sync.Once                     // logs the first decision without the primary
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It does no
// I/O, so it returns at once also while the primary is away.
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
	var ok bool
	if s.primary, ok = cfg.Primary.(primary); !ok {
		s.primary, s.starter = plain{cfg.Primary}, nil
	}
	s.seeder, _ = cfg.Local.(Seeder)
	s.clock.open()
	s.memory.open(cfg.MaxKeys)
	s.breaker = breaker{probe: s.probe, most: cfg.Probe, tell: s.tell, back: s.restoreAll}
	s.breaker.open(time.Now())
	return s, nil
}

// tell logs a change and passes it to OnChange.
func (s *Store) tell(c Change) {
	if c.Away {
		s.cfg.Logger.Warn("weir: the primary store is away", "error", c.Err, "after", c.After)
	} else {
		s.cfg.Logger.Info("weir: the primary store is back", "after", c.After)
	}
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(c)
	}
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
	if s.denier != nil && s.breaker.isClosed() {
		if d, ok := s.denied(req); ok {
			return d, nil
		}
	}
	if !s.breaker.allow() {
		return s.decide(ctx, &req, nil)
	}
	a := s.attempt(&req)
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

// denied asks the Denier. The request is a copy: an interface may keep it, and other
// calls need no allocation.
func (s *Store) denied(req store.Request) (store.Decision, bool) {
	return s.denier.Denied(s.cfg.Primary, &req)
}

// Reset implements [store.Resetter]. Both stores forget the key. It returns the first
// error.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	s.memory.forget(scope, key)
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

// State returns the breaker's state, for a health endpoint.
func (s *Store) State() State { return s.breaker.state() }

// Away returns how long the primary has been away and its last error; 0 and nil while it
// is there.
func (s *Store) Away() (time.Duration, error) { return s.breaker.away() }
