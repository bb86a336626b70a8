package localstore

import "time"

// Advance moves the store's clock, far faster than sleeping in a bubble of
// testing/synctest would, where time otherwise stands still.
func (s *Store) Advance(d time.Duration) { s.epoch += int64(d) }

// Room returns how many keys the maps and lists were made for.
func (s *Store) Room() (n int) {
	for i := range s.all {
		n += max(s.all[i].peak, cap(s.all[i].all)) + len(s.all[i].small.tags)
	}
	return n
}

// SmallKeys returns how many of the keys are small.
func (s *Store) SmallKeys() (n int) {
	for i := range s.all {
		n += s.all[i].small.count
	}
	return n
}

// IsEntry reports whether a key is kept as one that is not small.
func (s *Store) IsEntry(scope, key string) bool {
	k := s.id(scope, key)
	return s.shard(k).keys[k] != nil
}

// LogEntries returns how many entries a key's log has, and room for how many.
func (s *Store) LogEntries(scope, key string) (n, room int) {
	k := s.id(scope, key)
	e := s.shard(k).keys[k]
	if e == nil {
		return 0, 0
	}
	return len(e.key.Log.Entries), cap(e.key.Log.Entries)
}
