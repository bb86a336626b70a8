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

// ErrAway is returned under Closed while the primary store is away. The
// primary's own error is wrapped beside it.
var ErrAway = errors.New("fallback: the primary store is away")

// Seeder is a local store that takes over the state of a key.
type Seeder interface {
	// Seed makes the state of a key what m says of it. m.At is the present instant by
	// the clock of m.
	Seed(m store.Memory)
}

// primary is the primary store, which a plain makes one if it is none.
type primary interface {
	store.Store
	store.Restorer
}

// id is a key in a scope.
type id struct{ scope, key string }

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
	cfg       Config
	denier    Denier // the primary, as starter; nil: it is none
	primary   primary
	starter   store.Starter
	seeder    Seeder // the local store; nil: it is none
	clock     clock
	breaker   breaker
	endings   endings
	memory    memory
	restoring atomic.Bool  // in the background
	waits     atomic.Bool  // for a restore in the background
	tries     atomic.Int32 // that failed in a row
	lostAt    atomic.Int64 // when a loss was last seen, by the process's clock
	brakes    brakes
	failed    atomic.Pointer[store.Request] // looks at what the call that failed last asked for
	alone     sync.Once                     // the first decision without the primary is logged
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

// tell tells of a change.
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

// denied is what the primary says by itself. The request is a copy, which other
// calls need not have where an interface can keep it.
func (s *Store) denied(req store.Request) (store.Decision, bool) {
	return s.denier.Denied(s.cfg.Primary, &req)
}

// Reset implements [store.Resetter]: the key is forgotten locally, and by the
// primary, whose failure is returned.
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

// State returns who decides now, for a health endpoint.
func (s *Store) State() State { return s.breaker.state() }

// Away returns for how long the primary has been away and its last error; 0 and
// nil while it is there.
func (s *Store) Away() (time.Duration, error) { return s.breaker.away() }
