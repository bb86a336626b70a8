package store

import "time"

// Change is a change of the primary store of a fallback.
type Change struct {
	// Err is the failure with which the primary went away; nil: it is back.
	Err error
	// After is the time for which the primary was there, or away.
	After time.Duration
}
