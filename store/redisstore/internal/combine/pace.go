package combine

import "time"

// pace bounds the round trips under way.
//
// More of them shorten the wait of calls on slow networks. Each costs the process and the
// server about 20 µs, so on a fast network they cost more than they save. One for each
// perTrip of a round trip takes a third of a core at most. A loaded machine makes most round
// trips slower, but hardly the shortest of some seconds. So pace uses the shortest.
type pace struct {
	min, max int
	trips    int
	worth    int              // round trips that the network makes worthwhile. 0: not known, or fixed
	shortest [2]time.Duration // of the present span and of the one before
	ends     time.Time        // of the present span
}

const (
	perTrip = 60 * time.Microsecond
	span    = 5 * time.Second
)

// newPace returns the pace of a fixed number of round trips. With 0 the number follows the
// network, from DefaultRoundTrips to most. If most is less, the number is most.
func newPace(fixed, most int) pace {
	if fixed > 0 {
		return pace{min: fixed, max: fixed, trips: fixed}
	}
	if most <= 0 {
		most = DefaultRoundTrips
	}
	first := min(most, DefaultRoundTrips)
	return pace{min: first, max: most, trips: first}
}

// saw notes the duration of a round trip that is back.
func (p *pace) saw(now time.Time, took time.Duration) {
	if p.min == p.max {
		return
	}
	if !now.Before(p.ends) {
		old := p.shortest[0]
		if now.Sub(p.ends) >= span {
			old = took
		}
		p.shortest, p.ends = [2]time.Duration{took, old}, now.Add(span)
	}
	p.shortest[0] = min(p.shortest[0], took)
	p.worth = int(min(p.shortest[0], p.shortest[1]) / perTrip)
	p.trips = min(max(p.worth, p.min), p.max)
}

// more reports whether another round trip may join those under way. Many calls share fewer
// round trips, which costs the process and the server less.
func (p *pace) more(trips, calls int) bool {
	return trips < p.min || trips < p.trips && trips*calls < 2*p.worth*p.worth
}
