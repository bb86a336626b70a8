package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// counting is the state of one limit of one key, under its algorithm. Times
// are in whole microseconds.
type counting interface {
	// slot returns the earliest instant from b on at which the limit admits
	// cost units, rounded down and up.
	slot(b, cost int64) (floor, slot int64)
	// book takes cost units at a slot that suits all limits of the request,
	// which is rounded down and up. keep: the booking may be cancelled.
	book(floor, slot, cost, now int64, keep bool)
	// correct gives back what a booking took too much, as far as that admits
	// nothing too much, or charges what it took too little, if its slot still
	// counts. after is the state after the booking. It reports whether anything
	// changed.
	correct(c correction, after *snapshot) bool
	// adapted returns the state of another limit of the same algorithm, with
	// what was used carried over.
	adapted(l *store.Limit, now int64) counting
	// clamp has what was booked for later not count any more, or as used now.
	clamp(now int64, counts bool)
	// void has what was booked for later not count any more. units returns how much
	// that is, of what was booked for before an instant, where it is known.
	void(now int64, units func(before int64) int64)
	// lapse returns the instant from which the state is as if never used.
	lapse() int64
	// report returns an outcome that says what the state is.
	report(now int64) exact.Outcome
	// save returns what the state is, and restore makes it what it was before a
	// booking of cost units at slot, when that was the last change.
	save() snapshot
	restore(before *snapshot, slot, cost int64)
}

// correction is that of a booking at slot, from one cost to another. alone: it
// was the last change.
type correction struct {
	slot, from, to, now int64
	alone               bool
}

// units returns what a correction leaves of a window's.
func (c correction) units(n int64) int64 {
	return min(max(n+c.to-c.from, 0), max(n, exact.MostUnits))
}

// lose adds debt of a window before the first that is kept to what is lost, if
// it is not over yet, and reports whether there was any. Nobody can book in such
// a window, but who undoes what is booked after it must not bring it back
// without.
func (c correction) lose(lost *int64, first, over int64) bool {
	if c.to <= c.from || c.slot >= first || c.now >= over {
		return false
	}
	*lost = min(*lost+c.to-c.from, exact.MostUnits)
	return true
}

// snapshot is what makes a state the same as another: a GCRA state has the
// first two fields, the others some of the rest.
type snapshot struct {
	tat     exact.Micros
	credit  credit
	window  exact.State
	lost    int64
	present exact.State
	first   int64
}

// fresh returns the state of a limit that was never used.
func fresh(l *store.Limit) counting {
	p := l.Period.Microseconds()
	switch l.Algorithm {
	case store.SlidingWindow:
		return &log{rate: l.Rate, period: p}
	case store.SlidingCounter:
		return &counter{rate: l.Rate, period: p}
	case store.FixedWindow, store.AlignedWindow:
		return &fixed{rate: l.Rate, period: p, aligned: l.Algorithm == store.AlignedWindow}
	}
	return newGCRA(exact.PaceOf(l))
}
