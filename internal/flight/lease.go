package flight

import (
	"slices"
	"sync/atomic"
	"time"
)

// Lease is one call's place among the calls in flight. The zero Lease holds
// nothing. It is safe for concurrent use.
type Lease struct {
	flight *flight
	id     string
	done   atomic.Bool
}

// Release ends the lease, in the background. The first call acts.
func (l *Lease) Release() {
	if l == nil || l.flight == nil || l.done.Swap(true) {
		return
	}
	f := l.flight
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.release(l.id)
}

// Held reports whether the lease is still held.
func (l *Lease) Held() bool { return l != nil && l.flight != nil && !l.done.Load() }

// add counts a lease that the store has granted, or may have.
func (f *flight) add(id string, since time.Time) {
	f.held[id] = since
	f.count++
}

// release gives a lease back, unless it is lost. The lock is held.
func (f *flight) release(id string) {
	if granted, held := f.held[id]; held {
		delete(f.held, id)
		f.back = append(f.back, returned{id, granted, time.Now()})
		f.send()
	}
}

// send releases leases in the background, on one goroutine.
func (f *flight) send() {
	if !f.sending && len(f.back)+len(f.failed) > 0 {
		f.sending = true
		go f.sendAll()
	}
}

func (f *flight) sendAll() {
	fs := f.of
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for f.sending {
		counted, batch := len(f.back), append(f.failed, f.back...)
		f.back, f.failed = nil, nil
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].id
		}
		fs.mu.Unlock()
		err := fs.cfg.Release(f.key, ids)
		fs.mu.Lock()
		f.sent(batch, int64(counted), err)
		f.sending = len(f.back) > 0
		f.advance()
	}
}

// sent notes the outcome of releasing a batch. Failed leases go with the next ones, or with the
// next heartbeat. Of over 500, the store granted the earliest before it was gone.
func (f *flight) sent(batch []returned, counted int64, err error) {
	lapsed := time.Now().Add(-f.of.cfg.Lease)
	for _, r := range batch {
		if err != nil && r.since.After(lapsed) {
			f.failed = append(f.failed, r)
		} else {
			f.of.ended.Add(f.key, r.id)
		}
	}
	slices.SortStableFunc(f.failed, func(a, b returned) int { return a.granted.Compare(b.granted) })
	f.failed = f.failed[:min(int64(len(f.failed)), max(f.of.cfg.Max, 500))]
	if counted > 0 {
		f.count -= counted
		f.pause, f.width = firstPause, max(f.width, counted)
		f.wake()
	}
}
