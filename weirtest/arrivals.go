package weirtest

import "time"

// Refusal says what refused a request. Its zero value is that of an admitted
// one.
type Refusal uint8

const (
	// NotRefused: the request was admitted.
	NotRefused Refusal = iota
	// ByLimit: a limit had too little left, or the cost never fits.
	ByLimit
	// ByInFlight: as many requests as may be were being served.
	ByInFlight
	// ByCommand: Refuse or RefuseFor said so.
	ByCommand

	refusals
)

var refusalNames = [refusals]string{"admitted", "limit", "in_flight", "command"}

// String returns the refusal in lower case with underscores.
func (r Refusal) String() string {
	if r >= refusals {
		return "unknown"
	}
	return refusalNames[r]
}

// Arrival is one request as the provider saw it.
type Arrival struct {
	At      time.Time // by the provider's clock, when it was counted
	Key     string
	Refused Refusal
	Body    []byte // nil unless the bodies are kept; not to be changed
}

// Arrivals are requests in the order in which they were counted.
type Arrivals []Arrival

// Admitted returns those that were admitted.
func (a Arrivals) Admitted() Arrivals {
	return a.where(func(x Arrival) bool { return x.Refused == NotRefused })
}

// Refused returns those that were refused, whatever did.
func (a Arrivals) Refused() Arrivals {
	return a.where(func(x Arrival) bool { return x.Refused != NotRefused })
}

// Of returns those of one key.
func (a Arrivals) Of(key string) Arrivals {
	return a.where(func(x Arrival) bool { return x.Key == key })
}

// Between returns those that arrived at from or later and before to.
func (a Arrivals) Between(from, to time.Time) Arrivals {
	return a.where(func(x Arrival) bool { return !x.At.Before(from) && x.At.Before(to) })
}

// MaxIn returns the largest number of requests in any half-open interval of that
// length: two requests exactly a window apart are not in one. A window of 0 or
// less gives 0.
func (a Arrivals) MaxIn(window time.Duration) int {
	if window <= 0 {
		return 0
	}
	largest, first := 0, 0
	for i := range a {
		for a[i].At.Sub(a[first].At) >= window {
			first++
		}
		largest = max(largest, i-first+1)
	}
	return largest
}

func (a Arrivals) where(keep func(Arrival) bool) Arrivals {
	var kept Arrivals
	for _, x := range a {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// ring keeps the newest arrivals.
type ring struct {
	max  int
	all  Arrivals
	next int // where the next one goes once there are max
}

func (r *ring) add(a Arrival) {
	if len(r.all) < r.max {
		r.all = append(r.all, a)
		return
	}
	r.all[r.next] = a
	r.next = (r.next + 1) % r.max
}

// list returns a copy, the oldest first.
func (r *ring) list() Arrivals {
	return append(append(make(Arrivals, 0, len(r.all)), r.all[r.next:]...), r.all[:r.next]...)
}

// Counts are what a Provider counted since it was made. Unlike Arrivals they
// are never forgotten.
type Counts struct {
	Admitted         int64
	RefusedByLimit   int64
	RefusedInFlight  int64
	RefusedOnCommand int64
	// InFlight is how many requests are being served now, over all keys, and
	// MaxInFlight the most there have ever been at once.
	InFlight, MaxInFlight int
	// OpenBodies is how many bodies of responses that came through Transport
	// have not been closed.
	OpenBodies int
	// Keys is how many keys take memory: those with a limit that is not as if
	// never used or with a request being served, and some others.
	Keys int
	// Forgotten is how many arrivals are no longer kept.
	Forgotten int64
}

// Refused returns how many requests were refused, whatever did.
func (c Counts) Refused() int64 {
	return c.RefusedByLimit + c.RefusedInFlight + c.RefusedOnCommand
}

// Arrived returns how many requests were counted.
func (c Counts) Arrived() int64 { return c.Admitted + c.Refused() }

// note counts one arrival.
func (c *Counts) note(r Refusal) {
	switch r {
	case ByLimit:
		c.RefusedByLimit++
	case ByInFlight:
		c.RefusedInFlight++
	case ByCommand:
		c.RefusedOnCommand++
	default:
		c.Admitted++
	}
}
