package line

import (
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// watchLinger is how long a watch outlives the last waiting call. So calls that wait now
// and then do not subscribe anew each time.
const watchLinger = time.Second

// watcher watches for brakes while calls wait.
type watcher struct {
	subscribe func() store.Watch // nil: the store has no brakes

	mu     sync.Mutex
	users  int
	watch  store.Watch // nil: none
	since  time.Time
	linger *time.Timer
}

// start watches until stop was called as often as start.
func (w *watcher) start() {
	if w.subscribe == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users++; w.watch == nil {
		w.watch = w.subscribe()
		w.since = time.Now()
	}
}

func (w *watcher) stop() {
	if w.subscribe == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users--; w.users > 0 {
		return
	}
	if w.linger == nil {
		w.linger = time.AfterFunc(watchLinger, w.end)
	} else {
		w.linger.Reset(watchLinger)
	}
}

// end stops the watch unless calls wait.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == 0 && w.watch != nil {
		w.watch.Stop()
		w.watch = nil
	}
}

// covers reports whether the watch has missed no brake since a time.
func (w *watcher) covers(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch != nil && w.since.Before(since) && w.watch.Covers(since)
}
