// Package watchers holds the functions that a store calls when a brake changes.
package watchers

import (
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// Func is the function of store.Braker's WatchBrakes.
type Func = func(scope, key string, c store.Clock)

// Set is a set of Funcs. The zero value is empty and ready to use. It is safe for
// concurrent use.
type Set struct{ all sync.Map } // from *watch to Func

// Add adds f until the watch stops.
func (s *Set) Add(f Func) store.Watch {
	w := &watch{s}
	s.all.Store(w, f)
	return w
}

// Empty reports whether the set has no Func.
func (s *Set) Empty() bool {
	empty := true
	s.all.Range(func(any, any) bool {
		empty = false
		return false
	})
	return empty
}

// Tell calls every Func. A Func may add others and stop its watch.
func (s *Set) Tell(scope, key string, c store.Clock) {
	s.all.Range(func(_, f any) bool {
		f.(Func)(scope, key, c)
		return true
	})
}

// watch is a Func in a Set. It misses no brake.
type watch struct{ set *Set }

func (w *watch) Covers(time.Time) bool { return true }

// Stop does nothing the second time. The Func may still be running when Stop returns.
func (w *watch) Stop() { w.set.all.Delete(w) }
