package dashboard

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxWaits bounds the waits with a memory of their own, at 24 bytes each.
	maxWaits = 100_000
	// maxWaitKeys bounds the keys of remembered waits.
	maxWaitKeys = 10_000
)

// waits remembers the waiting calls of this process, by key. It is safe for concurrent
// use.
type waits struct {
	mu    sync.Mutex
	keys  map[fullKey][]time.Time // when waits began, the oldest first
	count int
}

type waitOf struct {
	calls  int
	oldest time.Time
}

func (w *waits) begin(k fullKey, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.keys[k]
	if w.count >= maxWaits || !ok && len(w.keys) >= maxWaitKeys {
		return
	}
	if w.keys == nil {
		w.keys = map[fullKey][]time.Time{}
	}
	w.keys[k] = append(list, now)
	w.count++
}

// end removes the wait of a key that began at about a time.
func (w *waits) end(k fullKey, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.keys[k]
	if len(list) == 0 {
		return // It was over a bound.
	}
	i, _ := slices.BinarySearchFunc(list, began, time.Time.Compare)
	if i == len(list) || i > 0 && began.Sub(list[i-1]) < list[i].Sub(began) {
		i--
	}
	w.count--
	if len(list) == 1 {
		delete(w.keys, k)
		return
	}
	w.keys[k] = slices.Delete(list, i, i+1)
}

func (w *waits) copy() map[fullKey]waitOf {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[fullKey]waitOf, len(w.keys))
	for k, list := range w.keys {
		all[k] = waitOf{len(list), list[0]}
	}
	return all
}
