package flight

import (
	"sync"
	"sync/atomic"
	"time"
)

// renewals is the maximum number of keys whose leases are renewed at the same time.
const renewals = 8

// beat starts the heartbeat when there are leases, and stops it when there are
// none. The lock is held.
func (fs *Flights) beat() {
	needed := fs.held+fs.failed > 0
	switch {
	case needed == fs.beats:
		return
	case !needed:
		fs.heart.Stop()
	case fs.heart == nil:
		fs.heart = time.AfterFunc(fs.cfg.Lease/3, fs.renewAll)
	default:
		fs.heart.Reset(fs.cfg.Lease / 3)
	}
	fs.beats = needed
}

// renewAll is the heartbeat. It renews all leases, each key's in one call, and tries
// failed releases again.
func (fs *Flights) renewAll() {
	fs.mu.Lock()
	if fs.beats && fs.renewing {
		fs.heart.Reset(fs.cfg.Lease / 12) // The last heartbeat still runs.
	}
	if !fs.beats || fs.renewing {
		fs.mu.Unlock()
		return
	}
	fs.renewing = true
	todo := make([]*flight, 0, len(fs.keys))
	var stuck func()
	for _, f := range fs.keys {
		f.send()
		if len(f.held) > 0 {
			todo = append(todo, f)
		}
		if !fs.stuck && f.isStuck() {
			fs.stuck, stuck = true, fs.cfg.Stuck
		}
	}
	// From the beginning of this heartbeat, however long it takes.
	fs.heart.Reset(fs.cfg.Lease / 3)
	fs.mu.Unlock()

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
	if stuck != nil {
		stuck()
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.renewing = false
	if fs.beats && failed.Load() {
		fs.heart.Reset(fs.cfg.Lease / 12)
	}
}

// isStuck reports whether this process has held all calls in flight of the key for
// longer than a lease lives. The lock is held.
func (f *flight) isStuck() bool {
	if int64(len(f.held)) < f.of.cfg.Max {
		return false
	}
	for _, l := range f.held {
		if time.Since(l.since) <= f.of.cfg.Lease {
			return false
		}
	}
	return true
}

// renew renews the leases of one key, and forgets the lost ones. The caller tries again
// soon after an error.
func (f *flight) renew() error {
	fs := f.of
	fs.mu.Lock()
	ids := make([]string, 0, len(f.held))
	for id := range f.held {
		ids = append(ids, id)
	}
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
		if f.held[id] == nil {
			continue // Released meanwhile.
		}
		delete(f.held, id)
		f.count--
		fs.held--
		n++
	}
	if n > 0 {
		f.wake()
		f.advance()
		fs.beat()
	}
	return n
}

// Count returns the number of keys with calls, and whether the heartbeat runs.
func (fs *Flights) Count() (keys int, beats bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.keys), fs.beats
}
