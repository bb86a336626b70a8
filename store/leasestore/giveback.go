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
	// giveBackWithin bounds one call that gives units back. closeWithin bounds all such calls
	// of Close, and mostAtOnce is how many of them run at once.
	giveBackWithin = time.Second
	closeWithin    = 3 * time.Second
	mostAtOnce     = 64
)

// end takes the unused units of a lease. giving waits until they are given back. The caller
// holds the shard's lock.
func (s *Store) end(l *lease) (u unused, some bool) {
	if u, some = l.end(); some {
		s.giving.Add(1)
	}
	return u, some
}

// giveBack settles a call that took units ahead at its used units. Units that can't be
// given back lapse.
func (s *Store) giveBack(u unused) error { return s.giveBackBy(context.Background(), u) }

// giveBackBy is giveBack within a context. It recovers panics, as it may run on a goroutine
// of its own.
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

// giveAllBack gives the unused units of all leases back, within closeWithin. It returns the
// first error.
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

// arm sets the timer that gives the unused units of a lease back at their end. The caller
// holds the shard's lock.
func (s *Store) arm(sh *shard, l *lease) {
	d := l.until - s.now()
	if l.timer != nil {
		l.timer.Reset(d)
		return
	}
	l.timer = time.AfterFunc(d, func() { s.expire(sh, l) })
}

// expire gives the unused units of a lease back after their end.
func (s *Store) expire(sh *shard, l *lease) {
	if u, some := s.expired(sh, l); some {
		_ = s.giveBack(u)
	}
}

// expired takes the unused units of a lease after their end.
func (s *Store) expired(sh *shard, l *lease) (u unused, some bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch now := s.now(); {
	case sh.closed || l.left == 0:
		return u, false
	case now < l.until: // newer units
		l.timer.Reset(l.until - now)
		return u, false
	}
	if u, some = s.end(l); some {
		l.size, l.late = u.used, true
	}
	return u, some
}

// drop takes the unused units of a key's lease. Units under way are given back when they
// come.
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
