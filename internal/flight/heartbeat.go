package flight

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// renewals is the maximum number of keys whose leases are renewed at the same time.
const renewals = 8

// renewAll is the heartbeat. It renews all leases, each key's in one call, and tries
// failed releases again. It sets the next heartbeat, which comes sooner after a failure.
func (fs *Flights) renewAll() {
	start := time.Now()
	todo, stuck := fs.due()
	var failed atomic.Bool
	var wg sync.WaitGroup
	turns := make(chan struct{}, renewals)
	for _, f := range todo {
		turns <- struct{}{}
		wg.Go(func() {
			if f.renew() != nil {
				failed.Store(true)
			}
			<-turns
		})
	}
	wg.Wait()
	if stuck {
		fs.cfg.Stuck()
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	next := fs.cfg.Lease / 12
	if !failed.Load() {
		next = max(next, fs.cfg.Lease/3-time.Since(start))
	}
	if fs.beats = len(fs.keys) > 0; fs.beats {
		fs.heart.Reset(next)
	}
}

// due sends failed releases again, and returns all flights. stuck: one of them is the first
// that is stuck.
func (fs *Flights) due() (todo []*flight, stuck bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.keys {
		f.send()
		todo = append(todo, f)
		if fs.cfg.Stuck != nil && !fs.stuck && f.isStuck() {
			fs.stuck, stuck = true, true
		}
	}
	return todo, stuck
}

// isStuck reports whether this process has held all calls in flight of the key for
// longer than a lease lives. The lock is held.
func (f *flight) isStuck() bool {
	stuck := int64(len(f.held)) >= f.of.cfg.Max
	for _, since := range f.held {
		stuck = stuck && time.Since(since) > f.of.cfg.Lease
	}
	return stuck
}

// renew renews the leases of one key, and forgets the lost ones. The caller tries again
// soon after an error.
func (f *flight) renew() error {
	fs := f.of
	fs.mu.Lock()
	ids := slices.Collect(maps.Keys(f.held))
	fs.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	lost, err := fs.cfg.Renew(f.key, ids)
	for range f.forget(lost) {
		fs.cfg.Lost(f.key)
	}
	return err
}

// forget forgets ended leases, and returns how many were still held.
func (f *flight) forget(ids []string) (n int) {
	fs := f.of
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, id := range ids {
		if _, held := f.held[id]; held { // It was not released meanwhile.
			delete(f.held, id)
			f.count--
			n++
		}
	}
	if n > 0 {
		f.wake()
		f.advance()
	}
	return n
}
