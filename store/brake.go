package store

import (
	"context"
	"strconv"
	"time"
)

// Braker is a Store that can slow a key down beyond its limits, for all processes that share
// the store. An upstream or a person asks for it.
type Braker interface {
	// Brake sets, changes or lifts the key's brake, in one call. The charges name
	// the key, one for all of them, and its limits; they cost nothing. A brake
	// changes how the key's time runs. Booked slots stay booked, keep their order,
	// and come when the key's time reaches them.
	Brake(ctx context.Context, charges []Charge, b Brake) error
	// WatchBrakes makes the store call f when a brake changes a key's clock. f is
	// quick, and may call Covers. Calls may come from several goroutines, late, twice,
	// or for keys that the caller does not use. The caller stops the Watch.
	WatchBrakes(f func(scope, key string, c Clock)) Watch
}

// Clock maps the slots of a key to instants. Slots are instants of the key's own
// time: a pause makes that time stand, a lower rate makes it slow. It never runs
// faster than the store's clock, so slots keep their order and exceed no limit.
// A Clock does not change. A brake makes another.
type Clock interface {
	// Real returns the instant at which a slot comes, by the store's clock.
	Real(slot Instant) Instant
	// Counts reports whether all limits still count the booking of a receipt. Windows with a
	// beginning (fixed, aligned, sliding counter) move as a whole: a slot that leaves its window
	// is booked again. The receipt keeps its windows' starts, so that a waiter asks the Clock of
	// each brake, one after the other. A nil receipt counts.
	Counts(receipt any) bool
	// Set returns the instant of the brake that made the Clock. The later of two Clocks of a
	// key holds.
	Set() Instant
	// Gap returns the time between two units that an upstream advertised (Brake.Tell), at an
	// instant; 0: none.
	Gap(at Instant) time.Duration
}

// Watch is a subscription to brakes.
type Watch interface {
	// Covers reports whether the watch can have missed no brake set since a time.
	// Otherwise a waiter looks at the key once before it uses its slot.
	Covers(since time.Time) bool
	// Stop ends the watch. f may still be running when Stop returns.
	Stop()
}

// Brake says how a key is slowed down. Its parts are independent; a zero part
// changes nothing.
type Brake struct {
	// Pause: no slot comes for this long from now on. The key's time runs on to the
	// first booked slot and stands there until the pause ends. The pause that ends
	// last wins.
	Pause time.Duration
	// Slack makes a pause that grows by this Brake longer than Pause asks. Slightly longer
	// pauses that follow shortly then change nothing.
	Slack time.Duration
	// Cut lowers the rate at which slots follow each other.
	Cut Cut
	// Tell replaces the advertised pace: for GapFor, time runs so slowly that units of the
	// slowest limit with at least one unit per Gap come Gap apart. A Gap of 0 sets none.
	Tell        bool
	Gap, GapFor time.Duration
	// Lift removes the whole brake. The other fields are then ignored.
	Lift bool
}

// Cut halves the speed of a key's time, down to 1/64. The speed then grows back
// evenly, by 1/64 each Recovery/64. This is additive increase, multiplicative
// decrease.
//
// The increase is a function of time alone: no process reports successes to the
// store. CUBIC, the other choice of adaptive clients, is a function of time too.
// But its plateau near the old rate depends on the rate's unit. It also takes cube
// roots in place of whole numbers.
type Cut struct {
	// Unit is the time between two units at the full rate. 0: no cut. While the
	// key's time is slow there are no bursts: units lie at least Unit of it apart.
	Unit time.Duration
	// Recovery is the time in which the rate grows from 0 to the full rate.
	Recovery time.Duration
	// Since is the instant at which the refused call's slot came. A rate that was cut
	// after Since is not cut again: all calls under way at a cut count as one.
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
