package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func waiting(cost int64, wait time.Duration, limits ...store.Limit) *store.Request {
	req := charges(cost, limits...)
	req.MaxWait = wait
	return req
}

// TestFullBeforeAnEmptiedWindow: after all bookings of a window that is ahead are given back, the
// present window is still full.
func TestFullBeforeAnEmptiedWindow(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		var k Key
		l := store.Per(10, time.Minute).By(a)
		now := align(begun, l.Period.Microseconds()) + 7_000_000
		_, full := take(&k, charges(10, l), now, 1)
		d, first := take(&k, waiting(1, time.Hour, l), now, 1)
		_, second := take(&k, waiting(1, time.Hour, l), now, 1)
		for _, r := range []*Receipt{first, second} {
			k.Settle(r, now, func(int) int64 { return 0 })
		}
		if at := k.Lapse(); at <= now {
			t.Errorf("%v: the key lapses at %d, it is %d", a, at, now)
		}
		if d, _ := take(&k, charges(0, l), now, 0); d.Remaining != 0 || d.ResetAfter == 0 {
			t.Errorf("%v: a look at a full window: %+v", a, d)
		}
		if again, _ := take(&k, charges(1, l), now, 0); again.Allowed || again.RetryAfter < d.Delay {
			t.Errorf("%v: one more than the window holds: %+v, want it after %v or later", a, again, d.Delay)
		}
		k.Settle(full, now, func(int) int64 { return 1 })
		d, _ = take(&k, charges(0, l), now, 0)
		if again, _ := take(&k, charges(1, l), now, 0); d.Remaining > 0 != again.Allowed {
			t.Errorf("%v: %d remaining: %+v", a, d.Remaining, again)
		}
	}
}

// TestFullBeforeAnEmptiedWindowThatACallLeavesOut: a call that leaves a limit out tells nothing
// about the present window either.
func TestFullBeforeAnEmptiedWindowThatACallLeavesOut(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.FixedWindow, store.AlignedWindow} {
		var k Key
		l, other := store.Per(10, time.Minute).By(a), store.Per(100, time.Second)
		now := align(begun, l.Period.Microseconds()) + 7_000_000
		take(&k, charges(10, l, other), now, 0)
		k.Brake(charges(0, l).Charges, &store.Brake{Pause: 2 * time.Minute}, now)
		_, r := take(&k, waiting(5, time.Hour, l), now+1, 1)
		k.Brake(charges(0, l).Charges, &store.Brake{Lift: true}, now+2)
		k.Settle(r, now+2, func(int) int64 { return 0 })
		take(&k, charges(1, other), now+3, 0)
		if d, _ := take(&k, charges(9, l), now+4, 0); d.Allowed {
			t.Errorf("%v: a full window admits 9 more: %+v", a, d)
		}
	}
}

// TestMoreAheadThanANumberHolds books more units ahead than 63 bits count.
func TestMoreAheadThanANumberHolds(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.SlidingWindow, store.FixedWindow, store.GCRA} {
		var k Key
		l := store.Per(store.MaxUnits, time.Second).By(a)
		last := time.Duration(-1)
		for i := range 10_000 {
			d, _ := take(&k, waiting(store.MaxUnits, 24*time.Hour, l), begun, 0)
			if !d.Allowed || d.Delay <= last || d.Remaining != 0 {
				t.Fatalf("%v, booking %d, after one in %v: %+v", a, i, last, d)
			}
			last = d.Delay
		}
	}
}

// TestLimitNamedTwice: a limit that two charges name counts the larger cost, once.
func TestLimitNamedTwice(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, costs := range [][2]int64{{0, 2}, {2, 0}, {1, 2}, {2, 2}} {
			var k Key
			l := store.Per(3, time.Minute).By(a)
			req := charges(0, l, l)
			req.Charges[0].Cost, req.Charges[1].Cost = costs[0], costs[1]
			d, r := take(&k, req, begun, 1)
			if !d.Allowed || d.Charge(0).Remaining != 1 || d.Charge(1).Remaining != 1 {
				t.Errorf("%v, %v of 3: %+v", a, costs, d)
			}
			k.Settle(r, begun, func(int) int64 { return 0 })
			if d, _ := take(&k, charges(3, l), begun, 0); !d.Allowed {
				t.Errorf("%v, %v of 3, given back: %+v", a, costs, d)
			}
		}
	}
}
