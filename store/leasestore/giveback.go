package leasestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// giveBackWithin bounds a call that gives back, and closeWithin all that are
	// made at the end, so many at once.
	giveBackWithin = time.Second
	closeWithin    = 3 * time.Second
	mostAtOnce     = 64
)

// end takes what is left of a lease, to be given back: until it is, giving waits.
// The shard is locked.
func (s *Store) end(l *lease) (u unused, some bool) {
	if u, some = l.end(); some {
		s.giving.Add(1)
	}
	return u, some
}

// giveBack corrects a call that took units ahead to those that were used. What
// can't be given back lapses by itself.
func (s *Store) giveBack(u unused) error { return s.giveBackBy(context.Background(), u) }

// giveBackBy is giveBack for as long as the context lasts. It may be on a goroutine of
// its own, where a panic would end the program.
func (s *Store) giveBackBy(ctx context.Context, u unused) (err error) {
	defer s.giving.Done()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("leasestore: the store panicked: %v", r)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, giveBackWithin)
	defer cancel()
	return s.cfg.Store.(store.Settler).Settle(ctx, u.receipt, u.used)
}

// giveAllBack gives back what is left of all leases, as far as there is time, and
// returns the first error.
func (s *Store) giveAllBack(all []unused) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var workers sync.WaitGroup
	var next atomic.Int64
	var once sync.Once
	var first error
	for range min(mostAtOnce, len(all)) {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(len(all)); i = next.Add(1) {
				if err := s.giveBackBy(ctx, all[i-1]); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	workers.Wait()
	return first
}

// arm has what is left of a lease given back when it may not be used any
// more. The shard is locked.
func (s *Store) arm(sh *shard, l *lease) {
	d := l.until - s.now()
	if l.timer != nil {
		l.timer.Reset(d)
		return
	}
	l.timer = time.AfterFunc(d, func() { s.expire(sh, l) })
}

// expire gives back what is left of a lease whose time is over.
func (s *Store) expire(sh *shard, l *lease) {
	if u, some := s.expired(sh, l); some {
		_ = s.giveBack(u)
	}
}

// expired takes what is left of a lease whose time is over.
func (s *Store) expired(sh *shard, l *lease) (u unused, some bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch now := s.now(); {
	case sh.closed || l.left == 0:
		return u, false
	case now < l.until: // of units that were taken since
		l.timer.Reset(l.until - now)
		return u, false
	}
	if u, some = s.end(l); some {
		l.size, l.late = u.used, true
	}
	return u, some
}

// drop takes what is left of a key's lease, and has what is under way given back
// when it comes.
func (s *Store) drop(k id) (u unused, some bool) {
	hash := s.hash(k)
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[hash]
	if l == nil || l.id != k || sh.closed {
		return u, false
	}
	l.forget()
	return s.end(l)
}
