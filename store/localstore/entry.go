package localstore

import (
	"strings"

	"github.com/goweir/weir/internal/exact"
)

// entry is a key that is not small.
type entry struct {
	id
	store  *Store
	key    exact.Key
	one    [1]exact.Part // room for the common case
	leases *leases       // nil: none
	lapse  int64         // when all of it is as if never used
	place  int           // in its shard
}

// newEntry returns a key that was never used. No shard keeps it yet.
func (s *Store) newEntry(k id) *entry {
	k.key = strings.Clone(k.key) // It may be part of something far larger.
	e := &entry{id: k, store: s}
	e.key.Parts = e.one[:0]
	return e
}

// open returns the entry of a key, or a new one. A lapsed one begins anew, and stays for
// this call.
func (s *Store) open(sh *shard, k id, now int64) (e *entry, fresh bool) {
	if e = s.entry(sh, k); e == nil {
		s.sweep(sh, now, newLooks)
		return s.newEntry(k), true
	}
	if e.lapse <= now {
		e.one[0] = exact.Part{}
		e.key, e.leases, e.lapse = exact.Key{Parts: e.one[:0]}, nil, now+1
	}
	return e, false
}

// keep keeps a new entry if there is room.
func (s *Store) keep(sh *shard, e *entry, now int64) bool {
	if !s.makeRoom(1, now) {
		return false
	}
	sh.add(e)
	return true
}

// settle works out when the entry lapses.
func (e *entry) settle() { e.lapse = max(e.key.Lapse(), e.leases.lapse()) }
