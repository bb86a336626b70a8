package weirtest

import (
	"context"
	"slices"
	"sync"

	"github.com/goweir/weir"
)

// maxRequests is how many requests a Store keeps.
const maxRequests = 10_000

// Store is a weir.Store that does as it is told: it refuses, fails, delays or
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
// It is a weir.Canceler and a weir.Resetter; these calls are passed on to the
// wrapped store, and return weir.ErrUnsupported if that is none.
type Store struct {
	base weir.Store

	mu        sync.Mutex
	script    []Step
	always    Step
	cancelErr error
	resetErr  error
	counts    StoreCounts
	requests  []weir.Request
}

// StoreCounts are how often a Store was called since it was made or cleared,
// whatever came of it.
type StoreCounts struct {
	Takes, Cancels, Resets int
	// InTake is how many calls of Take have not returned, and MostInTake the
	// most there have been at once.
	InTake, MostInTake int
}

var (
	_ weir.Store    = (*Store)(nil)
	_ weir.Canceler = (*Store)(nil)
	_ weir.Resetter = (*Store)(nil)
)

// NewStore returns a Store that wraps base. Nil: a store that allows whatever
// it is asked, without counting.
func NewStore(base weir.Store) *Store {
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

// FailCancel makes every Cancel return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailCancel(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelErr = err
}

// FailReset makes every Reset return err, and do nothing. Nil: they are passed
// on.
func (s *Store) FailReset(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resetErr = err
}

// Clear makes the Store as it was when it was made: it forgets the script and
// everything counted. The wrapped store and calls that run are left alone.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.always, s.cancelErr, s.resetErr, s.requests = nil, nil, nil, nil, nil
	s.counts = StoreCounts{InTake: s.counts.InTake, MostInTake: s.counts.InTake}
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
func (s *Store) Requests() []weir.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.requests[max(0, len(s.requests)-maxRequests):])
	for i := range all {
		all[i].Charges = slices.Clone(all[i].Charges)
	}
	return all
}

// Take implements weir.Store: the next step decides.
func (s *Store) Take(ctx context.Context, req weir.Request) (weir.Decision, error) {
	if err := req.Validate(); err != nil {
		return weir.Decision{}, err
	}
	step := s.enter(req)
	defer s.leave() // also when the step panics
	if step == nil {
		return s.base.Take(ctx, req)
	}
	return step(ctx, req, s.base)
}

// enter notes a call of Take and returns what it does.
func (s *Store) enter(req weir.Request) Step {
	// The charges are the caller's again when Take returns.
	req.Charges = slices.Clone(req.Charges)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Takes++
	s.counts.InTake++
	s.counts.MostInTake = max(s.counts.MostInTake, s.counts.InTake)
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

// Cancel implements weir.Canceler.
func (s *Store) Cancel(ctx context.Context, receipt any) error {
	s.mu.Lock()
	s.counts.Cancels++
	err := s.cancelErr
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if c, ok := s.base.(weir.Canceler); ok {
		return c.Cancel(ctx, receipt)
	}
	return weir.ErrUnsupported
}

// Reset implements weir.Resetter.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	s.mu.Lock()
	s.counts.Resets++
	err := s.resetErr
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if r, ok := s.base.(weir.Resetter); ok {
		return r.Reset(ctx, scope, key)
	}
	return weir.ErrUnsupported
}
