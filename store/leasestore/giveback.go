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
func (s *Store) end(l *lease) (u unused) {
	if l.left > 0 && l.d.Receipt != nil {
		u = unused{l.d.Receipt, l.took - l.left}
		s.giving.Add(1)
	}
	l.left, l.d.Receipt = 0, nil
	return u
}

// giveBack settles a call that took units ahead at its used units, if it left some. Units
// that can't be given back lapse.
func (s *Store) giveBack(u unused) {
	if u.receipt != nil {
		_ = s.giveBackBy(context.Background(), u)
	}
}

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
	l.timer = time.AfterFunc(d, func() { s.giveBack(s.expired(sh, l)) })
}

// expired takes the unused units of a lease after their end.
func (s *Store) expired(sh *shard, l *lease) (u unused) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch now := s.now(); {
	case sh.closed || l.left == 0:
	case now < l.until: // newer units
		l.timer.Reset(l.until - now)
	default:
		if u = s.end(l); u.receipt != nil {
			l.size, l.late = u.used, true
		}
	}
	return u
}

// drop takes the unused units of a key's lease. Units under way are given back when they
// come.
func (s *Store) drop(k id) unused {
	hash := hashOf(k)
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[hash]
	if l == nil || l.id != k || sh.closed {
		return unused{}
	}
	l.forget()
	return s.end(l)
}

// heed makes this process give units of a key back when another process brakes the key, if
// the store behind reports brakes.
func (s *Store) heed() {
	s.heeding.Do(func() {
		b, ok := s.cfg.Store.(store.Braker)
		if !ok {
			return
		}
		s.watch = b.WatchBrakes(func(scope, key string, _ store.Clock) {
			if u := s.drop(id{scope, key}); u.receipt != nil {
				s.giving.Go(func() { s.giveBack(u) })
			}
		})
	})
}

// Close gives all unused units back, with those of calls under way, and returns after that.
// It tries for 3 s. Units that a silent store does not take back by then lie unused until
// they lapse, and Close returns an error. Later calls go to the store behind unchanged.
func (s *Store) Close() error {
	s.heeding.Do(func() {})
	if s.watch != nil {
		s.watch.Stop()
	}
	var all []unused
	for i := range s.shards {
		all = append(all, s.close(&s.shards[i])...)
	}
	err := s.giveAllBack(all)
	s.giving.Wait()
	return err
}

// close takes all unused units, and ends taking ahead.
func (s *Store) close(sh *shard) (all []unused) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.closed = true
	for k, l := range sh.leases {
		if u := s.end(l); u.receipt != nil {
			all = append(all, u)
		}
		if l.timer != nil {
			l.timer.Stop()
		}
		if l.taking == nil {
			delete(sh.leases, k)
		}
	}
	return all
}
