// Package watchers holds the functions that a store calls when a brake changes.
package watchers

import (
	"sync"

	"github.com/goweir/weir/store"
)

// Func is the function of store.Braker's WatchBrakes.
type Func = func(scope, key string, c store.Clock)

// Set is a set of Funcs. The zero value is empty and ready to use. It is safe for
// concurrent use.
type Set struct {
	mu   sync.Mutex
	last int
	all  map[int]Func
}

// Add adds f, and returns the number for Remove.
func (s *Set) Add(f Func) (id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[int]Func)
	}
	s.last++
	s.all[s.last] = f
	return s.last
}

// Remove removes a Func, and returns how many are left. Removing it again does nothing.
// The Func may still be running when Remove returns.
func (s *Set) Remove(id int) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return len(s.all)
}

// Tell calls every Func, and holds no lock meanwhile: a Func may call Add and Remove.
func (s *Set) Tell(scope, key string, c store.Clock) {
	s.mu.Lock()
	all := make([]Func, 0, len(s.all))
	for _, f := range s.all {
		all = append(all, f)
	}
	s.mu.Unlock()
	for _, f := range all {
		f(scope, key, c)
	}
}
