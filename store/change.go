package store

import "time"

// Change is a change of the primary store of a fallback.
type Change struct {
	// Away is true when the primary went away, false when it is back.
	Away bool
	// Err is the failure that opened the breaker; nil when the primary is back.
	Err error
	// After is the time for which the primary was there, or away.
	After time.Duration
}
