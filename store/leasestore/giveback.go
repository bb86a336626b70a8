package leasestore

import (
	"context"
	"time"

	"github.com/goweir/weir"
)

// giveBackWithin bounds a call that gives back.
const giveBackWithin = time.Second

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
func (s *Store) giveBack(u unused) error {
	defer s.giving.Done()
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
