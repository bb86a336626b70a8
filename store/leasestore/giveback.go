package leasestore

import (
	"cmp"
	"context"
	"fmt"
	"sync"
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

// take takes the unused units of a lease, to be given back. The caller holds the shard's
// lock.
func (l *lease) take() (u unused) {
	if l.left > 0 && l.d.Receipt != nil {
		u = unused{l.d.Receipt, l.took - l.left}
	}
	l.left, l.d.Receipt = 0, nil
	return u
}

// giveBack gives units back in the background. The channel is closed afterwards; nil: there
// are none. Units that can't be given back lapse. The caller holds a shard's lock, so that
// Close waits for the units.
func (s *Store) giveBack(u unused) <-chan struct{} {
	if u.receipt == nil {
		return nil
	}
	done := make(chan struct{})
	s.giving.Go(func() {
		defer close(done)
		_ = s.settle(context.Background(), u)
	})
	return done
}

// settle settles a call that took units ahead at its used units. It recovers panics, as it
// runs on a goroutine of its own.
func (s *Store) settle(ctx context.Context, u unused) (err error) {
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
	var calls sync.WaitGroup
	running, errs := make(chan struct{}, mostAtOnce), make([]error, len(all))
	for i, u := range all {
		running <- struct{}{}
		calls.Go(func() {
			defer func() { <-running }()
			errs[i] = s.settle(ctx, u)
		})
	}
	calls.Wait()
	return cmp.Or(errs...)
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
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed || s.now() < l.until { // Newer units have set the timer again.
		return
	}
	if u := l.take(); s.giveBack(u) != nil {
		l.size, l.late = u.used, true
	}
}

// drop gives the unused units of a key back: see giveBack. Units under way are given back
// when they come.
func (s *Store) drop(k id) <-chan struct{} {
	hash := hashOf(k)
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[hash]
	if l == nil || l.id != k || sh.closed {
		return nil
	}
	l.forget()
	return s.giveBack(l.take())
}

// heed makes this process give units of a key back when another process brakes the key, if
// the store behind reports brakes.
func (s *Store) heed() {
	s.heeding.Do(func() {
		if b, ok := s.cfg.Store.(store.Braker); ok {
			s.watch = b.WatchBrakes(func(scope, key string, _ store.Clock) { s.drop(id{scope, key}) })
		}
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
		if u := l.take(); u.receipt != nil {
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
