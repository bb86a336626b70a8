package heed

import (
	"time"

	"github.com/goweir/weir/store"
)

// Level is one of the limiters that count a request.
type Level struct {
	Name     string // the limiter's
	Limits   []store.Limit
	MaxPause time.Duration // the longest time that a brake may last
	Unit     Unit          // of Limits
}

// Booking is a request's slot on a level.
type Booking struct {
	*Level
	At        store.Instant       // the instant of the grant
	Remaining int64               // units left at the grant, of the limit with the smallest share left
	Charges   []store.ChargeState // of each of several limits
	Gap       time.Duration       // between two units, by an earlier brake; 0: none
}
