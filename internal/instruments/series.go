package instruments

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Series holds a value for each of its first keys, and one for all others. Get of a
// known key takes no lock and allocates nothing. Series are safe for concurrent use, and
// made by NewSeries.
type Series[K comparable, V any] struct {
	max   int
	make  func(K) *V
	other func() *V
	first atomic.Pointer[entry[K, V]] // spares most limiters the map, which takes 30 ns
	all   atomic.Pointer[map[K]*V]
	mu    sync.Mutex // of changes to all
}

type entry[K comparable, V any] struct {
	key   K
	value *V
}

// NewSeries returns Series for at most max keys; 0: for all. make returns the value of a
// key, other the value of all keys after those: it is called once at most, and nil
// stands for a nil value.
func NewSeries[K comparable, V any](max int, make func(K) *V, other func() *V) *Series[K, V] {
	s := &Series[K, V]{max: max, make: make, other: func() *V { return nil }}
	if other != nil {
		s.other = sync.OnceValue(other)
	}
	s.all.Store(&map[K]*V{})
	return s
}

// Get returns the value of a key.
func (s *Series[K, V]) Get(key K) *V {
	if first := s.first.Load(); first != nil && first.key == key {
		return first.value
	}
	all := *s.all.Load()
	if v, ok := all[key]; ok {
		return v
	}
	if s.max > 0 && len(all) >= s.max {
		return s.other()
	}
	return s.add(key)
}

// add makes the value of a key, unless there are too many.
func (s *Series[K, V]) add(key K) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.all.Load()
	if v, ok := old[key]; ok {
		return v
	}
	if s.max > 0 && len(old) >= s.max {
		return s.other()
	}
	all, v := maps.Clone(old), s.make(key)
	all[key] = v
	s.first.CompareAndSwap(nil, &entry[K, V]{key, v})
	s.all.Store(&all)
	return v
}
