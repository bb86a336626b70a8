package localstore

import (
	"container/list"
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// leases are the calls in flight of one key.
type leases struct {
	byID  map[string]*list.Element
	order list.List // of lease, by end
}

type lease struct {
	id  string
	end int64
}

// sweep forgets what has ended.
func (l *leases) sweep(now int64) {
	for e := l.order.Front(); e != nil && e.Value.(lease).end <= now; e = l.order.Front() {
		l.remove(e)
	}
}

func (l *leases) remove(e *list.Element) { delete(l.byID, l.order.Remove(e).(lease).id) }

// full returns the instant from which there is room for one more of most leases
// if none is renewed; 0 when there is.
func (l *leases) full(most, now int64) int64 {
	if l == nil {
		return 0
	}
	l.sweep(now)
	over := int64(l.order.Len()) - most
	if over < 0 {
		return 0
	}
	e := l.order.Front()
	for range over {
		e = e.Next()
	}
	return e.Value.(lease).end
}

// hold makes a lease end at an instant, a new one if there is none.
func (l *leases) hold(id string, end int64) {
	if e := l.byID[id]; e != nil {
		l.remove(e)
	}
	// Most leases are of the same length, so that the place is near the end.
	at := l.order.Back()
	for at != nil && at.Value.(lease).end > end {
		at = at.Prev()
	}
	if l.byID == nil {
		l.byID = make(map[string]*list.Element)
	}
	if at == nil {
		l.byID[id] = l.order.PushFront(lease{id, end})
	} else {
		l.byID[id] = l.order.InsertAfter(lease{id, end}, at)
	}
}

// lapse returns the instant from which no lease is left.
func (l *leases) lapse() int64 {
	if l == nil || l.order.Len() == 0 {
		return 0
	}
	return l.order.Back().Value.(lease).end
}

// hold makes a lease of the key end at an instant.
func (e *entry) hold(id string, end int64) {
	if e.leases == nil {
		e.leases = new(leases)
	}
	e.leases.hold(id, end)
	e.settle()
}

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

// Keep holds a lease, however many there are: one that another store granted. A
// fallback store tells this one of them. It does nothing for a new key when the
// store is full.
func (s *Store) Keep(scope, key, lease string, d time.Duration) {
	k := s.id(scope, key)
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, fresh := s.open(sh, k, now)
	if fresh && !s.keep(sh, e, now) {
		return
	}
	e.hold(lease, now+d.Microseconds())
}

// held changes the leases of a key that are alive, and forgets the key when
// nothing is left of it.
func (s *Store) held(scope, key string, change func(l *leases, now int64)) {
	k := s.id(scope, key)
	sh := s.shard(k)
	sh.mu.Lock()
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
	if e.settle(); e.lapse <= now {
		s.remove(sh, e)
	}
}
