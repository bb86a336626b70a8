package weir

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// renewals is how many keys' leases are renewed at the same time.
const renewals = 8

// beat starts the heartbeat when there is something to keep up, and stops it
// when there is nothing. The lock is held.
func (fs *flights) beat() {
	needed := fs.held+fs.failed > 0
	switch {
	case needed == fs.beats:
		return
	case !needed:
		fs.heart.Stop()
	case fs.heart == nil:
		fs.heart = time.AfterFunc(fs.lease/3, fs.renewAll)
	default:
		fs.heart.Reset(fs.lease / 3)
	}
	fs.beats = needed
}

// renewAll renews all leases, those of a key in one call, and has those released
// that could not be before. It is what the heartbeat's timer calls.
func (fs *flights) renewAll() {
	fs.mu.Lock()
	if fs.beats && fs.renewing {
		fs.heart.Reset(fs.lease / 12) // The last one is not done yet.
	}
	if !fs.beats || fs.renewing {
		fs.mu.Unlock()
		return
	}
	fs.renewing = true
	todo := make([]*flight, 0, len(fs.keys))
	for _, f := range fs.keys {
		f.send()
		if len(f.held) > 0 {
			todo = append(todo, f)
		}
	}
	// From the beginning of this beat, however long it takes.
	fs.heart.Reset(fs.lease / 3)
	fs.mu.Unlock()

	next := make(chan *flight)
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(renewals, len(todo)) {
		wg.Go(func() {
			for f := range next {
				if f.renew() != nil {
					failed.Store(true)
				}
			}
		})
	}
	for _, f := range todo {
		next <- f
	}
	close(next)
	wg.Wait()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.renewing = false
	if fs.beats && failed.Load() {
		fs.heart.Reset(fs.lease / 12)
	}
}

// renew renews the leases of one key, and forgets those that are lost. A failure
// is an event's to tell; it is tried again soon.
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
	var lost []string
	err := f.call("renew", func(ctx context.Context) (err error) {
		lost, err = fs.holder.Renew(ctx, fs.limiter.cfg.Name, f.key, fs.lease, ids...)
		return err
	})
	for range f.forget(lost) {
		if h := fs.limiter.cfg.Hook; h != nil {
			h.Observe(context.Background(), Event{Kind: EventLeaseLost, Scope: fs.limiter.cfg.Name, Key: f.key})
		}
	}
	return err
}

// forget forgets leases that have ended, and returns how many were still held.
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
