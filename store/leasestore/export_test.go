package leasestore

// SetRoom bounds the busy keys of each shard.
func (s *Store) SetRoom(keys int) { s.room = keys }
