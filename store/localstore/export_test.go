package localstore

import "time"

// Advance moves the store's clock far faster than sleeping in a bubble of testing/synctest.
func (s *Store) Advance(d time.Duration) { s.epoch += int64(d) }

// Room returns the number of keys for which maps and lists were made.
func (s *Store) Room() (n int) {
	for i := range s.all {
		n += max(s.all[i].peak, cap(s.all[i].all)) + len(s.all[i].small.tags)
	}
	return n
}

// SmallKeys returns the number of small keys.
func (s *Store) SmallKeys() (n int) {
	for i := range s.all {
		n += s.all[i].small.count
	}
	return n
}

// IsEntry reports whether a key is kept as an entry, not as a small key.
func (s *Store) IsEntry(scope, key string) bool {
	k := s.id(scope, key)
	return s.shard(k).keys[k] != nil
}

// LogEntries returns the length and the capacity of a key's log.
func (s *Store) LogEntries(scope, key string) (n, room int) {
	k := s.id(scope, key)
	e := s.shard(k).keys[k]
	if e == nil {
		return 0, 0
	}
	return len(e.key.Log.Entries), cap(e.key.Log.Entries)
}
