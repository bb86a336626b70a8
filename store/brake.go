package store

import (
	"context"
	"strconv"
	"time"
)

// Braker is a Store that can slow a key down beyond its limits, for all processes
// that share the store. An upstream or a person asks for it.
type Braker interface {
	// Brake sets, changes or lifts the key's brake, in one call. The charges name
	// the key, one for all of them, and its limits; they cost nothing. When the
	// change makes booked slots too early or too late, they become void: their
	// waiters book again.
	Brake(ctx context.Context, charges []Charge, b Brake) error
	// WatchBrakes makes the store call f when a brake voids booked slots of a key:
	// all slots granted at or before an instant. f is quick. Calls may come from
	// several goroutines, late, twice, or for keys that the caller does not use.
	// The caller stops the Watch.
	WatchBrakes(f func(scope, key string, at Instant)) Watch
}

// Watch is a subscription to brakes.
type Watch interface {
	// Covers reports whether the watch can have missed no brake set since a time.
	// Where it can, a waiter asks the store once more before it uses its slot.
	Covers(since time.Time) bool
	// Stop ends the watch. f may still be running when Stop returns.
	Stop()
}

// Instant is a time by a store's clock, in microseconds. Instants of one store
// can be compared, those of different stores can't. 0: none.
type Instant int64

// Brake says how a key is slowed down. Its parts are independent; a zero part
// changes nothing.
type Brake struct {
	// Pause: no slot for this long from now on. The pause that ends last wins.
	Pause time.Duration
	// Slack makes a pause that grows by this Brake longer than Pause asks. Slightly
	// longer pauses shortly after then change nothing. Each change makes all waiters
	// book again.
	Slack time.Duration
	// Cut lowers the rate at which slots follow each other.
	Cut Cut
	// Tell replaces the advertised gap: for the next GapFor, Gap is the minimum time
	// between the slots of two units. A Gap of 0 sets none.
	Tell        bool
	Gap, GapFor time.Duration
	// Lift removes the whole brake. The other fields are then ignored.
	Lift bool
}

// Cut halves the rate of a key, down to 1/64 of Unit's. The rate then grows back
// evenly: from nothing to full it takes Recovery. This is additive increase,
// multiplicative decrease.
//
// The increase is a function of time alone: no process reports successes to the
// store. CUBIC, the other choice of adaptive clients, is a function of time too.
// But its plateau near the old rate depends on the rate's unit. It also takes cube
// roots in place of whole numbers.
type Cut struct {
	// Unit is the time between two units at the full rate. 0: no cut.
	Unit time.Duration
	// Recovery is how long the rate takes from nothing to the full one.
	Recovery time.Duration
	// Since is the instant at which the refused call was granted its slot
	// ([Decision].At). A rate that was cut after Since is not cut again: all calls
	// under way at a cut count as one.
	Since Instant
}

// Validate reports the first wrong field, as a *[ConfigError].
func (b *Brake) Validate() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Pause", b.Pause}, {"Slack", b.Slack}, {"Gap", b.Gap}, {"GapFor", b.GapFor}, {"Cut.Unit", b.Cut.Unit}, {"Cut.Recovery", b.Cut.Recovery},
	} {
		if d.value < 0 || d.value > MaxPeriod/4 {
			return &ConfigError{Field: "Brake." + d.field, Want: "0 to 12.5 years", Got: d.value.String()}
		}
	}
	if b.Cut.Since < 0 {
		return &ConfigError{Field: "Brake.Cut.Since", Want: "0 or more", Got: strconv.FormatInt(int64(b.Cut.Since), 10)}
	}
	return nil
}
