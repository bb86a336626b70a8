// Package storetest is the conformance suite that every store of weir passes. Run it on your
// own stores, too:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
//	}
//
// It tests a store from outside: sequences of calls with the answers of an exact model,
// limits from one unit per microsecond to 2^50 in fifty years, refusals, looks, waits,
// pauses, lower rates, cancels, settled costs, several limits and keys at once, changed
// limits, random stories of all these, and calls at the same instant. It also checks every
// decision against the promises of store.Decision. A run makes some forty thousand calls, with
// WEIR_LONG=1 some two hundred thousand. They are always the same ones.
//
// A case is skipped if the store lacks an ability that it needs: store.Canceler,
// store.Settler, store.Resetter, store.Braker, store.Holder or store.Restorer. The suite
// tests neither speed, nor faults of a backend, nor the memory of a store.
package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// Run runs the suite on an in-process store that uses the clock of package time. Every case
// runs in its own testing/synctest bubble, and calls open for a new, empty store. Goroutines
// of the store must end with the case: open can use t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.try(&run{T: t, store: open(t), sleep: time.Sleep})
			})
		})
	}
}

// RunWithClock runs the suite on a store with its own clock. It is for stores behind a
// network, as time in a testing/synctest bubble would stand still. The clock must stand
// still at 2000-01-01T00:00:00Z. sleep moves it by whole microseconds, and not past the year
// 2262. Every case calls open for a new, empty store and its sleep. Cases run in parallel: on
// a shared server each store needs its own prefix or database.
func RunWithClock(t *testing.T, open func(t *testing.T) (store store.Store, sleep func(time.Duration))) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, sleep := open(t)
			c.try(&run{T: t, store: store, sleep: sleep})
		})
	}
}

// testCase is a part of the suite, and the abilities that it needs.
type testCase struct {
	name  string
	run   func(r *run)
	needs needs
}

func (c *testCase) try(r *run) {
	if lacks := r.lacks(c.needs); lacks != "" {
		r.Skipf("the store is no %s", lacks)
	}
	c.run(r)
}

var cases = []testCase{
	{"vectors", vectors, 0},
	{"concurrent calls", concurrency, 0},
	{"refusals change nothing", refusals, 0},
	{"looks change nothing", looks, 0},
	{"the binding limit", binding, 0},
	{"every decision is sound", soundness, 0},
	{"waiting exactly RetryAfter succeeds", retryAfter, 0},
	{"exactly Remaining units can be taken", remaining, 0},
	{"the first of n leaves n-1", first, 0},
	{"no drift", drift, 0},
	{"extreme limits", extremes, 0},
	{"a cost that never fits", never, 0},
	{"mistakes", mistakes, 0},
	{"keys", keys, 0},
	{"several limits", several, 0},
	{"several keys", severalKeys, 0},
	{"several keys at the same time", transfers, 0},
	{"levels", levels, 0},
	{"levels that are slowed down", slowLevels, brakes},
	{"levels, waiting exactly RetryAfter", levelsRetryAfter, 0},
	{"the request is not kept", notKept, cancels},
	{"changed limits", changed, 0},
	{"changed limits with slots booked ahead", promised, 0},
	{"two releases at a time", releases, 0},
	{"changed limits that are used up", changedUsed, 0},
	{"changed order of limits with slots booked ahead", changedOrder, 0},
	{"limits left out of a call", leftOut, 0},
	{"reset", reset, resets},
	{"slots in order", inOrder, 0},
	{"slots at the same time", slots, 0},
	{"cancel", cancel, cancels},
	{"cancel among others", cancelAmong, cancels},
	{"cancel and brakes", cancelBraked, cancels | brakes},
	{"cancel one of two", cancelApart, cancels},
	{"cancel never exceeds a limit", credit, cancels},
	{"units kept for others", leaving, 0},
	{"pauses", pauses, brakes},
	{"booked in a pause", bookedInPause, brakes},
	{"used units and pauses", used, brakes},
	{"slots move", moved, brakes},
	{"cuts", cuts, brakes},
	{"a cut rate grows back", grows, brakes},
	{"slots of a cut rate", stretched, brakes},
	{"an advertised pace", told, brakes},
	{"windows end in real time", windowsEnd, brakes},
	{"stories", stories, brakes},
	{"mistakes in braking", brakeMistakes, brakes},
	{"calls in flight", inFlight, holds},
	{"calls in flight and limits, all or nothing", inFlightOrNothing, holds},
	{"leases end and are renewed", inFlightEnds, holds},
	{"leases and changes", inFlightChanges, holds},
	{"leases at random", inFlightModel, holds},
	{"settle", settle, settles},
	{"settle without later bookings", settleAlone, settles},
	{"settle a slot ahead", settleAhead, settles},
	{"settle too late", settleLate, settles},
	{"settle with mistakes", settleMistakes, settles},
	{"settle the most", settleExtremes, settles},
	{"settle at the same time", settleTogether, settles},
	{"settle several limits", settleSeveral, settles},
	{"settle never exceeds a limit", settleSafe, settles},
	{"a loss is restored", restored, restores},
	{"a loss is restored once", restoredOnce, restores},
	{"a sliding window known at other times", restoredMoved, restores},
	{"a loss is found and changes nothing", lost, restores},
	{"kept state is not restored", kept, restores},
	{"a reset is no loss", resetKept, restores | resets},
	{"spent without the store", spent, restores},
	{"spent to the brim", spentBrim, restores},
	{"spent at slots ahead", spentAhead, restores},
	{"lapsed units are not restored", restoredLapsed, restores},
	{"mistakes in restoring", restoreMistakes, restores},
	{"slots after a loss", restoredSlots, restores},
	{"slots after a loss and pauses", restoredPaused, restores | brakes},
	{"losses at random", losses, restores | settles | cancels | resets},
	{"settle after a loss", restoredSettled, restores | settles | cancels},
	{"changed limits after a loss", restoredChanged, restores},
}
