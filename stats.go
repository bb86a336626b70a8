package weir

// Stats is what a Limiter does now, for gauges that are read when they are scraped.
type Stats struct {
	// Waiting is the number of calls of this Limiter that wait for a slot or for room.
	Waiting int64
	// InFlight is the number of leases that this Limiter's calls hold. 0 without
	// Config.InFlight.
	InFlight int64
}

// Stats returns the present numbers, of this process alone. It asks no store, and is
// safe for concurrent use. Those of a zero Limiter are 0.
func (l *Limiter) Stats() Stats {
	s := Stats{Waiting: l.waiting.Load()}
	if l.flights != nil {
		s.InFlight = int64(l.flights.Held())
	}
	return s
}
