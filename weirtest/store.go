package weirtest

import (
	"context"
	"slices"
	"sync"

	"github.com/goweir/weir/store"
)

// maxRequests is how many requests a Store keeps.
const maxRequests = 10_000

// Store is a store.Store that does as it is told: it refuses, fails, delays or
// blocks, and otherwise lets the store decide that it wraps. It is safe for
// concurrent use and counts what it is asked.
//
// Next says what the next calls of Take do, one step each, Always what all
// later ones do:
//
//	store := weirtest.NewStore(nil)
//	store.Next(weirtest.Refuse(time.Second), weirtest.Fail(errors.New("down")))
//	store.Always(weirtest.Block())
//
// It is a store.Canceler, store.Settler, store.Resetter, store.Braker and
// store.Holder; these calls are passed on to the wrapped store, and return
// store.ErrUnsupported if that is none. A Take with a store.Hold does too, so that
// a limiter with Config.InFlight needs a wrapped store that is a store.Holder.
type Store struct {
	base store.Store

	mu       sync.Mutex
	script   []Step
	always   Step
	failing  map[method]error
	counts   StoreCounts
	requests []store.Request
}

// StoreCounts are how often a Store was called since it was made or cleared,
// whatever came of it.
type StoreCounts struct {
	Takes, Cancels, Settles, Resets, Brakes, Releases, Renews int
	// Watching is how many watches for brakes are not stopped.
	Watching int
	// InTake is how many calls of Take have not returned, and MaxInTake the
	// most there have been at once.
	InTake, MaxInTake int
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
)

// NewStore returns a Store that wraps base. Nil: a store that allows whatever
// it is asked, without counting.
func NewStore(base store.Store) *Store {
	if base == nil {
		base = allowAll{}
	}
	return &Store{base: base, always: Pass()}
}

// Next adds steps to the script; each call of Take uses one up. A nil Step is
// Pass.
func (s *Store) Next(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Always says what Take does when the script is used up. Nil: Pass, as at first.
func (s *Store) Always(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = step
}

// Clear makes the Store as it was when it was made: it forgets the script and
// everything counted. The wrapped store, calls that run and watches are left alone.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.always, s.failing, s.requests = nil, nil, nil, nil
	s.counts = StoreCounts{InTake: s.counts.InTake, MaxInTake: s.counts.InTake, Watching: s.counts.Watching}
}

// Left returns how many steps of the script are not used up.
func (s *Store) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// Counts returns how often the Store was called.
func (s *Store) Counts() StoreCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Requests returns what Take was asked, oldest first, of the last 10 000 calls.
// They are copies.
func (s *Store) Requests() []store.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.requests[max(0, len(s.requests)-maxRequests):])
	for i := range all {
		all[i].Charges = slices.Clone(all[i].Charges)
	}
	return all
}

// Take implements store.Store: the next step decides.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	step := s.enter(req)
	defer s.leave() // also when the step panics
	if _, ok := s.base.(store.Holder); !ok && req.Hold.Asked() {
		return store.Decision{}, store.ErrUnsupported
	}
	if step == nil {
		return s.base.Take(ctx, req)
	}
	return step(ctx, req, s.base)
}

// enter notes a call of Take and returns what it does.
func (s *Store) enter(req store.Request) Step {
	// The charges are the caller's again when Take returns.
	req.Charges = slices.Clone(req.Charges)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Takes++
	s.counts.InTake++
	s.counts.MaxInTake = max(s.counts.MaxInTake, s.counts.InTake)
	if len(s.requests) >= 2*maxRequests {
		s.requests = append(s.requests[:0], s.requests[len(s.requests)-maxRequests:]...)
	}
	s.requests = append(s.requests, req)
	if len(s.script) == 0 {
		return s.always
	}
	step := s.script[0]
	s.script = s.script[1:]
	return step
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.InTake--
}
