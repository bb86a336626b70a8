package weirtest

import (
	"slices"
	"time"
)

// Refusal is the reason of a refusal. Its zero value means admitted.
type Refusal uint8

const (
	// NotRefused: the request was admitted.
	NotRefused Refusal = iota
	// ByLimit: a limit had too little left, or the cost never fits.
	ByLimit
	// ByInFlight: MaxInFlight requests of the key were being served.
	ByInFlight
	// ByCommand: Refuse or RefuseFor was in effect.
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

// Arrival is one counted request.
type Arrival struct {
	At      time.Time // by the provider's clock, when it was counted
	Key     string    // the counted identity
	Refused Refusal   // the reason, if any
	Body    []byte    // read-only; nil unless KeepBodies is set
}

// Arrivals are counted requests, oldest first.
type Arrivals []Arrival

// Admitted returns the admitted requests.
func (a Arrivals) Admitted() Arrivals {
	return a.where(func(x Arrival) bool { return x.Refused == NotRefused })
}

// Refused returns the requests refused for any reason.
func (a Arrivals) Refused() Arrivals {
	return a.where(func(x Arrival) bool { return x.Refused != NotRefused })
}

// Of returns the requests of one key.
func (a Arrivals) Of(key string) Arrivals {
	return a.where(func(x Arrival) bool { return x.Key == key })
}

// Between returns the requests counted at from or later, and before to.
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
	return slices.DeleteFunc(slices.Clone(a), func(x Arrival) bool { return !keep(x) })
}

// ring keeps the newest arrivals.
type ring struct {
	max  int
	all  Arrivals
	next int // the place of the next arrival once there are max
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

// Counts are a Provider's counts since it was made. Unlike Arrivals they are never
// forgotten.
type Counts struct {
	Admitted         int64 // served requests
	RefusedByLimit   int64 // see ByLimit
	RefusedInFlight  int64 // see ByInFlight
	RefusedOnCommand int64 // see ByCommand
	// InFlight is the number of requests being served now, over all keys, and
	// MaxInFlight the largest number so far.
	InFlight, MaxInFlight int
	// OpenBodies is the number of unclosed response bodies from Transport.
	OpenBodies int
	// Keys is the number of keys in memory: all keys with a used limit or a request
	// being served, and some others.
	Keys int
	// Forgotten is the number of arrivals that are no longer kept.
	Forgotten int64
}

// Refused returns the number of requests refused for any reason.
func (c Counts) Refused() int64 {
	return c.RefusedByLimit + c.RefusedInFlight + c.RefusedOnCommand
}

// Arrived returns the number of counted requests.
func (c Counts) Arrived() int64 { return c.Admitted + c.Refused() }

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
