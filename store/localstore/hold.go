package localstore

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// Release implements [store.Holder].
func (s *Store) Release(_ context.Context, scope, key string, ids ...string) error {
	s.held(scope, key, func(l *leases, _ int64) {
		for _, id := range ids {
			if e := l.byID[id]; e != nil {
				l.remove(e)
			}
		}
	})
	return nil
}

// Renew implements [store.Holder].
func (s *Store) Renew(_ context.Context, scope, key string, d time.Duration, ids ...string) (lost []string, err error) {
	if err := (store.Hold{Max: 1, ID: "id", Lease: d}).Validate(); err != nil {
		return nil, err
	}
	s.held(scope, key, func(l *leases, now int64) {
		for _, id := range ids {
			if l.byID[id] == nil {
				lost = append(lost, id)
				continue
			}
			l.hold(id, now+d.Microseconds())
		}
	})
	return lost, nil
}

// Keep holds a lease that another store granted, without a bound. A fallback store calls it.
// Keep does nothing for a new key if the store is full.
func (s *Store) Keep(scope, key, lease string, d time.Duration) {
	sh, k := s.lockKey(scope, key)
	defer sh.mu.Unlock()
	now := s.now()
	e, fresh := s.open(sh, k, now)
	if fresh && !s.keep(sh, e, now) {
		return
	}
	e.hold(lease, now+d.Microseconds())
}

// held changes the live leases of a key, and forgets the key if it has lapsed after that.
func (s *Store) held(scope, key string, change func(l *leases, now int64)) {
	sh, k := s.lockKey(scope, key)
	defer sh.mu.Unlock()
	now := s.now()
	e := sh.keys[k]
	if e == nil || e.leases == nil {
		change(new(leases), now)
		return
	}
	e.leases.sweep(now)
	change(e.leases, now)
	if len(e.leases.byID) == 0 {
		e.leases = nil
	}
	s.changed(sh, e, now)
}

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sh, k := s.lockKey(scope, key)
	defer sh.mu.Unlock()
	if e := s.entry(sh, k); e != nil {
		s.remove(sh, e)
	}
	return nil
}
