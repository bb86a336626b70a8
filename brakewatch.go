package weir

import (
	"context"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// watchLinger is how long a limiter watches for brakes after the last call
	// that waited, so that calls which wait now and then do not start anew.
	watchLinger = time.Second
	// unwatched is the longest wait after which a slot is used without being
	// sure that no brake was set meanwhile.
	unwatched = 50 * time.Millisecond
)

// watcher watches for brakes while calls of a limiter wait.
type watcher struct {
	mu     sync.Mutex
	users  int
	watch  store.Watch // nil: nobody does
	since  time.Time
	linger *time.Timer
}

// watchBrakes has the limiter watch for brakes until as many calls of unwatch.
func (l *Limiter) watchBrakes() {
	store, ok := l.cfg.Store.(store.Braker)
	if !ok {
		return
	}
	w := &l.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users++; w.watch == nil {
		w.watch = store.WatchBrakes(l.braked)
		w.since = time.Now()
	}
}

func (l *Limiter) unwatch() {
	if _, ok := l.cfg.Store.(store.Braker); !ok {
		return
	}
	w := &l.watcher
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

// end stops watching, if nobody waits.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == 0 && w.watch != nil {
		w.watch.Stop()
		w.watch = nil
	}
}

// covers reports whether no brake set since a time can have been missed.
func (w *watcher) covers(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch != nil && w.since.Before(since) && w.watch.Covers(since)
}

// braked is told that the slots of a key which were granted until an instant
// are void, and has those who wait for them book again.
func (l *Limiter) braked(scope, key string, at store.Instant) {
	if scope != l.cfg.Name {
		return
	}
	shard := l.waits.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for id, q := range shard.queues {
		if id.key == key {
			q.void(at)
		}
	}
}

// void takes all waiters whose slots were granted until an instant out of the
// line. They keep their place in it for when they have booked again.
func (q *queue) void(at store.Instant) {
	left := q.slots[:0]
	for _, s := range q.slots {
		if s.granted > at {
			left = append(left, s)
			continue
		}
		w := s.owner
		q.arrivals.Remove(w.place)
		w.slot, w.again = nil, true
		close(w.ready)
	}
	clear(q.slots[len(left):])
	q.slots = left
	q.advance()
}

// answer is what the store said last to those of a line who asked whether their
// slots are still theirs. Whoever has the queue's asking may touch it.
type answer struct {
	asked   time.Time     // by anybody, whatever came of it
	checked time.Time     // the last that was answered
	braked  store.Instant // what that said; 0: no brake
}

// stillGranted reports whether a slot that has come may be used: whether no
// brake was set since it was granted. Where one may have been missed, it asks.
// One answer is good for all of the line who came before it was asked for, and
// for whoever was granted a slot before that and would have heard of a brake
// since.
func (l *Limiter) stillGranted(ctx context.Context, q *queue, s *slot) bool {
	if _, ok := l.cfg.Store.(store.Braker); !ok || s.granted == 0 {
		return true
	}
	came := time.Now()
	if came.Sub(s.booked) < unwatched || l.watcher.covers(s.booked) {
		return true
	}
	select {
	case q.asking <- struct{}{}:
		defer func() { <-q.asking }()
	case <-ctx.Done():
		return true // A slot that has come is not given back.
	}
	a := &q.answer
	if covered := a.checked.After(s.booked) && l.watcher.covers(a.checked); !covered && a.asked.Before(came) {
		a.asked = time.Now()
		d, err := l.cfg.Store.Take(ctx, store.Request{Charges: l.charges(q.id.key), Checked: true})
		if err != nil {
			_ = l.storeError(ctx, "take", q.id.key, q.id.cost, err) // The Hook is told.
			return true                                             // The store is away: what it granted holds.
		}
		a.checked, a.braked = a.asked, d.BrakedAt
	}
	return a.braked < s.granted
}
