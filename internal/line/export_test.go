package line

// Paces returns the number of keys with remembered departures, and of these departures.
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
