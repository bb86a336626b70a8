// Package watchers holds those who want to be told of brakes, for the stores.
package watchers

import (
	"sync"

	"github.com/goweir/weir/store"
)

// Func is told of a brake, as store.Braker has it.
type Func = func(scope, key string, c store.Clock)

// Set is who is to be told. Its zero value is empty and ready to use. It is safe
// for concurrent use.
type Set struct {
	mu   sync.Mutex
	last int
	all  map[int]Func
}

// Add has f told from now on, and returns what Remove takes.
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

// Remove ends what Add began, and returns how many are left. Removing again
// does nothing. The function may still be running when it returns.
func (s *Set) Remove(id int) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return len(s.all)
}

// Tell tells everybody, without holding a lock: who is told may add and remove.
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
