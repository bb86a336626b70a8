// Package storetest is the conformance suite that every store of weir passes,
// for stores of your own too:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
//	}
//
// It looks at a store from outside: sequences of calls with the answers of an
// exact model, limits from one unit per microsecond to 2^50 in fifty years,
// refusals, looks, waits, cancels, settled costs, several limits and keys at once, limits that
// change, and callers that come at the same instant. Whatever a store answers
// is also held against what store.Decision promises. All of it is some forty
// thousand calls. Nothing is left to chance: each run makes the same ones.
//
// Abilities that a store does not have (store.Canceler, store.Settler,
// store.Resetter, store.Braker, store.Holder, charges of several keys) are skipped
// with a line that says so. Speed, faults of a
// backend, and what a store keeps in memory or on a server are for its own
// tests.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// Run runs the suite on an in-process store that tells time by package time.
// Every case runs in a testing/synctest bubble of its own, in which open is
// called for a new, empty store. What the store starts must have ended when the
// case has: open can have that done with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.run(&run{T: t, store: open(t), sleep: time.Sleep})
			})
		})
	}
}

// RunWithClock runs the suite on a store that tells time by a clock of its own,
// which must stand still at 2000-01-01T00:00:00Z until sleep moves it, by whole
// microseconds and not past the year 2262. It is for stores with a network in
// between, on which time in a testing/synctest bubble would not move. In every
// case, and cases run in parallel, open is called for a new, empty store and its
// sleep; on a shared server that is a prefix or a database for each.
func RunWithClock(t *testing.T, open func(t *testing.T) (store store.Store, sleep func(time.Duration))) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, sleep := open(t)
			c.run(&run{T: t, store: store, sleep: sleep})
		})
	}
}

var cases = []struct {
	name string
	run  func(r *run)
}{
	{"vectors", vectors},
	{"concurrent calls", concurrency},
	{"refusals change nothing", refusals},
	{"looks change nothing", looks},
	{"the binding limit", binding},
	{"every decision is sound", soundness},
	{"waiting exactly RetryAfter succeeds", retryAfter},
	{"Remaining is what can be taken", remaining},
	{"the first of n leaves n-1", first},
	{"no drift", drift},
	{"extreme limits", extremes},
	{"a cost that never fits", never},
	{"mistakes", mistakes},
	{"keys", keys},
	{"several limits", several},
	{"several keys", severalKeys},
	{"several keys at the same time", transfers},
	{"levels", levels},
	{"levels that are slowed down", slowLevels},
	{"levels, waiting exactly RetryAfter", levelsRetryAfter},
	{"the request is not kept", notKept},
	{"changed limits", changed},
	{"changed limits with slots booked ahead", changedAhead},
	{"changed limits that are used up", changedUsed},
	{"changed order of limits with slots booked ahead", changedOrder},
	{"limits left out of a call", leftOut},
	{"reset", reset},
	{"slots in order", queue},
	{"slots at the same time", slots},
	{"cancel", cancel},
	{"cancel among others", cancelAmong},
	{"most of a crowd leave", leaveCrowd},
	{"cancel what was forgotten", cancelForgotten},
	{"limits that change when all have left", leaveThenChange},
	{"cancel among a crowd", cancelCrowd},
	{"cancel some", cancelSome},
	{"cancel among those from before a limit was added", cancelAdded},
	{"cancel never exceeds a limit", credit},
	{"units left to others", leaving},
	{"pauses", pauses},
	{"slots and pauses", pausedSlots},
	{"used units and pauses", usedUnits},
	{"void slots", voidSlots},
	{"void slots of several limits", voidSeveral},
	{"void slots of a crowd", voidCrowd},
	{"void slots given back later", voidLater},
	{"slots that come at once", nearSlots},
	{"pauses at random", braked},
	{"paces", paces},
	{"mistakes in braking", brakeMistakes},
	{"calls in flight", inFlight},
	{"calls in flight and limits, all or nothing", inFlightOrNothing},
	{"leases end and are renewed", inFlightEnds},
	{"leases and changes", inFlightChanges},
	{"leases at random", inFlightModel},
	{"settle", settle},
	{"settle when nobody came since", settleAlone},
	{"settle a slot ahead", settleAhead},
	{"settle too late", settleLate},
	{"settle with mistakes", settleMistakes},
	{"settle the most", settleExtremes},
	{"settle at the same time", settleTogether},
	{"settle several limits", settleSeveral},
	{"settle never exceeds a limit", settleSafe},
}

// run is one case on one store.
type run struct {
	*testing.T
	store store.Store
	sleep func(time.Duration)
}

// take takes the costs of limits of one key. Without a decision the case can't
// go on.
func (r *run) take(req store.Request) store.Decision {
	r.Helper()
	d, err := r.store.Take(context.Background(), req)
	if err != nil {
		r.Fatalf("Take: %v", err)
	}
	r.check(req, d)
	return d
}

// check fails the case when a decision can't be right.
func (r *run) check(req store.Request, d store.Decision) {
	r.Helper()
	if err := sound(req, d); err != nil {
		r.Errorf("%v: %.1000s", err, fmt.Sprintf("%+v for %+v", d, req)) // Keys may be long.
	}
}

// together has n goroutines make a request each, and returns the decisions.
func (r *run) together(n int, req func(i int) store.Request) []store.Decision {
	r.Helper()
	all := make([]store.Decision, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := req(i)
			d, err := r.store.Take(context.Background(), req)
			if err != nil {
				r.Errorf("Take: %v", err)
				return
			}
			r.check(req, d)
			all[i] = d
		})
	}
	wg.Wait()
	return all
}

// charge is a request for cost units of key under limits.
func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}
