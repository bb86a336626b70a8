package line

// Paces returns of how many keys the lines remember departures, and of how many calls.
func (l *Lines) Paces() (keys, calls int) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		keys += len(s.paces)
		for _, p := range s.paces {
			calls += len(p.left)
		}
		s.mu.Unlock()
	}
	return keys, calls
}
