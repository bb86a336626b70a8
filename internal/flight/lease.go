package flight

import (
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Lease is one call's place among the calls in flight. The zero Lease holds
// nothing. It is safe for concurrent use.
type Lease struct {
	flight *flight
	id     string
	since  time.Time
	done   atomic.Bool
}

// processID distinguishes this process's leases from those of all others.
var (
	processID = sync.OnceValue(func() string { return rand.Text()[:16] })
	ids       atomic.Uint64
)

func newID() string { return processID() + "-" + strconv.FormatUint(ids.Add(1), 36) }

// Release ends the lease, in the background. The first call acts.
func (l *Lease) Release() {
	if l == nil || l.flight == nil || l.done.Swap(true) {
		return
	}
	f := l.flight
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.release(l)
}

// Held reports whether the lease is still held.
func (l *Lease) Held() bool { return l != nil && l.flight != nil && !l.done.Load() }

// returned is a lease on its way back to the store.
type returned struct {
	id    string
	since time.Time
	again bool // it was tried before, and is not counted any more
}

// add counts a lease that the store has granted, or may have.
func (f *flight) add(l *Lease) {
	if f.held == nil {
		f.held = make(map[string]*Lease)
	}
	f.held[l.id] = l
	f.count++
	f.of.held++
	f.of.beat()
}

// release gives a lease back, unless it is lost. The lock is held.
func (f *flight) release(l *Lease) {
	if f.held[l.id] != l {
		return
	}
	l.done.Store(true)
	delete(f.held, l.id)
	f.of.held--
	f.back = append(f.back, returned{id: l.id, since: time.Now()})
	f.send()
	f.of.beat()
}

// send releases leases in the background, on one goroutine.
func (f *flight) send() {
	if !f.sending && len(f.back) > 0 {
		f.sending = true
		go f.sendAll()
	}
}

func (f *flight) sendAll() {
	fs := f.of
	for {
		fs.mu.Lock()
		batch := f.back
		f.back = nil
		fs.mu.Unlock()
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].id
		}
		err := fs.cfg.Release(f.key, ids)
		fs.mu.Lock()
		more := f.sent(batch, err)
		if !more {
			f.sending = false
		}
		f.advance()
		fs.beat()
		fs.mu.Unlock()
		if !more {
			return
		}
	}
}

// sent notes the outcome of releasing a batch, and reports whether there are more leases
// to release now. Failed leases go with those, or with the next heartbeat. The store counts
// no more than Max; leases beyond it end by themselves.
func (f *flight) sent(batch []returned, err error) (more bool) {
	n := int64(0)
	more = len(f.back) > 0
	for _, r := range batch {
		if r.again {
			f.of.failed--
		} else {
			n++
		}
		if err != nil && time.Since(r.since) < f.of.cfg.Lease && int64(len(f.back)) < f.of.cfg.Max {
			r.again = true
			f.back = append(f.back, r)
			f.of.failed++
		}
	}
	f.count -= n
	f.pause = firstPause
	f.width = max(f.width, n)
	f.wake()
	return more
}
