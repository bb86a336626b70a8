package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir"
)

// giveBackWithin bounds a call that gives back.
const giveBackWithin = time.Second

// giveBack corrects a call that took units ahead to those that were used. What
// can't be given back lapses by itself.
func (s *Store) giveBack(u unused) error {
	ctx, cancel := context.WithTimeout(context.Background(), giveBackWithin)
	defer cancel()
	return s.cfg.Store.(weir.Settler).Settle(ctx, u.receipt, u.used)
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
	u, some := s.expired(sh, l)
	if some {
		defer s.giving.Done()
		_ = s.giveBack(u)
	}
}

// expired takes what is left of a lease whose time is over; then giving waits
// for it to be given back.
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
	if u, some = l.end(); some {
		l.size, l.late = u.used, true
		s.giving.Add(1)
	}
	return u, some
}

// drop takes what is left of a key's lease.
func (s *Store) drop(k id) (u unused, some bool) {
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[k]
	if l == nil {
		return u, false
	}
	l.until = 0
	if sh.closed {
		return u, false
	}
	return l.end()
}
