// Package storetest is the conformance suite that every store of weir passes,
// for stores of your own too:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) weir.Store { return mystore.New() })
//	}
//
// Abilities that a store does not have (weir.Canceler, weir.Resetter) are
// skipped with a line that says so.
package storetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// Run runs the suite on an in-process store that tells time by package time.
// Every case runs in a testing/synctest bubble of its own, in which open is
// called for a new, empty store.
func Run(t *testing.T, open func(t *testing.T) weir.Store) {
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
// which must stand still at 2000-01-01T00:00:00Z until sleep moves it. open is
// called for a new, empty store and its sleep in every case.
func RunWithClock(t *testing.T, open func(t *testing.T) (store weir.Store, sleep func(time.Duration))) {
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
	{"waiting exactly RetryAfter succeeds", retryAfter},
	{"Remaining is what can be taken", remaining},
	{"the first of n leaves n-1", first},
	{"no drift", drift},
	{"a cost that never fits", never},
	{"mistakes", mistakes},
	{"keys", keys},
	{"several limits and keys", several},
	{"changed limits", changed},
	{"reset", reset},
	{"slots in order", queue},
	{"cancel", cancel},
	{"cancel never exceeds a limit", credit},
}

// run is one case on one store.
type run struct {
	*testing.T
	store weir.Store
	sleep func(time.Duration)
}

// take takes the costs of limits of one key.
func (r *run) take(req weir.Request) weir.Decision {
	r.Helper()
	d, err := r.store.Take(context.Background(), req)
	if err != nil {
		r.Fatalf("Take: %v", err)
	}
	return d
}

// charge is a request for cost units of key under limits.
func charge(key string, cost int64, limits ...weir.Limit) weir.Request {
	var req weir.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, weir.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}
