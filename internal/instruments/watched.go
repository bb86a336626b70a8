package instruments

import (
	"maps"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
)

// Fallback is the part of a [fallback.Store] that is watched.
type Fallback interface {
	State() fallback.State
	Away() (time.Duration, error)
}

// Watched holds limiters and stores whose numbers are read when they are collected. It
// keeps no limiter from being collected as garbage. The zero Watched is ready, and safe
// for concurrent use.
type Watched struct {
	mu        sync.Mutex
	limiters  []weak.Pointer[weir.Limiter]
	fallbacks map[string]Fallback
}

// Add adds limiters. It ignores nil and known limiters.
func (w *Watched) Add(limiters ...*weir.Limiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limiters = slices.DeleteFunc(w.limiters, func(p weak.Pointer[weir.Limiter]) bool { return p.Value() == nil })
	for _, l := range limiters {
		if p := weak.Make(l); l != nil && !slices.Contains(w.limiters, p) {
			w.limiters = append(w.limiters, p)
		}
	}
}

// AddFallback sets the store of a name. Nil: none.
func (w *Watched) AddFallback(name string, s Fallback) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case s == nil, s == (*fallback.Store)(nil):
		delete(w.fallbacks, Clean(name))
		return
	case w.fallbacks == nil:
		w.fallbacks = make(map[string]Fallback)
	}
	w.fallbacks[Clean(name)] = s
}

// Stats returns how many calls wait and how many are in flight, by the limiter's name.
func (w *Watched) Stats() map[string][2]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	sums := make(map[string][2]int64)
	for _, p := range w.limiters {
		if l := p.Value(); l != nil {
			sum := sums[l.Name()]
			waiting, inFlight := l.Stats()
			sums[l.Name()] = [2]int64{sum[0] + waiting, sum[1] + inFlight}
		}
	}
	return sums
}

// Fallbacks returns the stores by their names.
func (w *Watched) Fallbacks() map[string]Fallback {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.fallbacks)
}
