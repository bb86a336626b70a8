package weirtest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/goweir/weir/store"
)

// maxRequests is the number of requests that a Store keeps.
const maxRequests = 10_000

// Store is a store.Store under the command of a test: it refuses, fails, delays or
// blocks calls, and passes all others to the store that it wraps. It is safe for
// concurrent use and counts its calls.
//
// Next sets the steps of the next calls of Take, Always the step of all later ones:
//
//	store := weirtest.NewStore(nil)
//	store.Next(weirtest.Refuse(time.Second), weirtest.Fail(errors.New("down")))
//	store.Always(weirtest.Block())
//
// It is a store.Canceler, store.Settler, store.Resetter, store.Braker and
// store.Holder. These calls go to the wrapped store. Without the ability there they
// return store.ErrUnsupported, and so does a Take with a store.Hold: a limiter with
// Config.InFlight needs a wrapped store.Holder.
type Store struct {
	base store.Store

	mu       sync.Mutex
	script   []Step
	always   Step
	failing  error // of FailOthers; nil: none
	counts   StoreCounts
	requests []store.Request
}

// StoreCounts are the calls of a Store since it was made or cleared, whatever
// their outcome.
type StoreCounts struct {
	Takes, Cancels, Settles, Resets, Brakes, Releases, Renews int
	// Watching is the number of watches for brakes that are not stopped.
	Watching int
	// InTake is the number of calls of Take that have not returned, MaxInTake the
	// largest number so far.
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

// NewStore returns a Store that wraps base. Nil: a store that allows everything and
// counts nothing.
func NewStore(base store.Store) *Store {
	return &Store{base: cmp.Or[store.Store](base, allowAll{}), always: Pass()}
}

// Next adds steps to the script. Each call of Take uses one up. A nil Step is Pass.
func (s *Store) Next(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Always sets the step of Take after the end of the script. Nil: Pass, as at first.
func (s *Store) Always(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = step
}

// Clear forgets the script, the failures, and all counts and requests. The wrapped
// store, running calls and watches are left alone.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.always, s.failing, s.requests = nil, nil, nil, nil
	s.counts = StoreCounts{InTake: s.counts.InTake, MaxInTake: s.counts.InTake, Watching: s.counts.Watching}
}

// Left returns the number of unused steps in the script.
func (s *Store) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// Counts returns the number of calls so far.
func (s *Store) Counts() StoreCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Requests returns copies of the requests of the last 10 000 Takes, oldest first.
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
	if s.base == nil {
		return store.Decision{}, &store.ConfigError{Field: "weirtest.Store", Want: "one made by NewStore", Got: "a zero one"}
	}
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

// enter notes a call of Take and returns its step.
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
