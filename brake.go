package weir

import (
	"context"
	"strconv"
	"time"
)

// Braker is a Store on which a key can be slowed down beyond its limits, for
// all who share the store: because an upstream said so, or a person.
type Braker interface {
	// Brake sets, changes or lifts what slows the key down, in one call. The
	// charges name the key, all the same one, and its limits; they cost nothing.
	// Slots booked ahead are void from then on, when the change makes them too
	// early or too late: whoever waits for one books again.
	Brake(ctx context.Context, charges []Charge, b Brake) error
	// WatchBrakes has f called when slots booked ahead on a key became void: all
	// that were granted at or before an instant. f is quick; calls may come from
	// several goroutines, late, twice, or for keys nobody here uses. A Watch is
	// to be stopped.
	WatchBrakes(f func(scope, key string, at Instant)) Watch
}

// Watch is a subscription to brakes.
type Watch interface {
	// Covers reports whether no brake set since a time can have been missed.
	// Where one can, whoever has waited since then asks the store once more
	// before using the slot.
	Covers(since time.Time) bool
	// Stop ends the watch. f may still be running when it returns.
	Stop()
}

// Instant is a time by a store's clock, in microseconds. Instants of one store
// can be compared, those of different stores can't. 0: none.
type Instant int64

// Brake says how a key is slowed down. Its parts are independent, and what is
// zero changes nothing.
type Brake struct {
	// Pause: no slot for this long from now on. Of several, the one that ends
	// last counts.
	Pause time.Duration
	// Slack is how much longer than Pause a pause is made that becomes longer by
	// it, so that those asked for shortly after, which would end a little later,
	// change nothing: each change has all who wait book again.
	Slack time.Duration
	// Cut lowers the rate at which slots follow each other.
	Cut Cut
	// Tell sets Gap, the least time between the slots of two units for the next
	// GapFor, in place of what was told before; a Gap of 0 sets none.
	Tell        bool
	Gap, GapFor time.Duration
	// Lift removes all that slows the key down; nothing else is looked at.
	Lift bool
}

// Cut halves the rate of a key, down to 1/64 of Unit's. It then rises by
// itself, evenly, and is whole again Recovery after it would have been none:
// additive increase, multiplicative decrease.
//
// The increase is a function of time alone, so that nobody has to report
// successes to the store. CUBIC, which adaptive clients also use, is too; but
// its plateau near the old rate depends on the rate's unit, and it takes cube
// roots, where this takes whole numbers.
type Cut struct {
	// Unit is the time between two units at the full rate. 0: no cut.
	Unit time.Duration
	// Recovery is how long the rate takes from nothing to the full one.
	Recovery time.Duration
	// Since is the instant at which the call that was refused was granted its
	// slot ([Decision].At). When the rate was cut after that, it is not cut
	// again: all calls that are under way when it is cut count as one.
	Since Instant
}

// DefaultMaxPause is the Config.MaxPause of a Config that sets none.
const DefaultMaxPause = 15 * time.Minute

// Pause keeps everybody who shares the store from using key for d, at most
// Config.MaxPause: calls are refused or wait until then, and those that wait
// already wait on. Of several pauses the one that ends last counts;
// [Limiter.Resume] ends it. It returns ErrUnsupported when the store can't, and a
// *[ConfigError] when d is not above 0.
//
// Afterwards calls go on as the limits have it: what these admit at once, the
// burst of a GCRA limit or the rate of a window, leaves together, and the rest at
// their pace. Under GCRA with a burst of 1 ([Limit.WithBurst]) no two do. Calls of
// one process that waited before keep their order, those of several processes book
// again in the order in which they hear of the pause.
func (l *Limiter) Pause(ctx context.Context, key string, d time.Duration) error {
	if d <= 0 {
		return &ConfigError{Field: "pause", Want: "more than 0", Got: d.String()}
	}
	return l.brake(ctx, key, Brake{Pause: d})
}

// Resume lifts a pause, and all else that slows key down beyond its limits. It
// returns ErrUnsupported when the store can't.
func (l *Limiter) Resume(ctx context.Context, key string) error {
	return l.brake(ctx, key, Brake{Lift: true})
}

// brake caps what is asked for and has the store set it.
func (l *Limiter) brake(ctx context.Context, key string, b Brake) error {
	store, ok := l.cfg.Store.(Braker)
	if !ok {
		return ErrUnsupported
	}
	if err := l.check(ctx, key, 0); err != nil {
		return err
	}
	b.Pause = min(b.Pause, l.cfg.MaxPause)
	b.Slack = min(b.Slack, l.cfg.MaxPause-b.Pause)
	b.GapFor = min(b.GapFor, l.cfg.MaxPause)
	b.Gap = min(b.Gap, l.cfg.MaxPause)
	return l.storeError(ctx, "brake", key, 0, store.Brake(ctx, l.charges(key), b))
}

// charges returns charges of the limiter's limits that cost nothing.
func (l *Limiter) charges(key string) []Charge {
	charges := make([]Charge, len(l.cfg.Limits))
	for i := range charges {
		charges[i] = Charge{Scope: l.cfg.Name, Key: key, Limit: l.cfg.Limits[i]}
	}
	return charges
}

// Validate reports the first field that is wrong, as a *[ConfigError].
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
