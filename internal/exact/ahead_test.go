package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestBookingsAhead: the number of bookings ahead is right, or -1.
func TestBookingsAhead(t *testing.T) {
	t.Parallel()
	const pause = 20 * time.Second
	bucket, log := store.Per(10, time.Minute), store.Per(10, time.Second).By(store.SlidingWindow)
	both := []store.Limit{bucket, log}
	for name, test := range map[string]struct {
		limits []store.Limit
		before int64 // units taken before the pause
		pause  time.Duration
		alone  int // bookings under the first limit alone
		calls  int // under all limits
		want   int64
	}{
		"a bucket":                               {[]store.Limit{bucket}, 10, 0, 0, 7, 7},
		"a bucket in a pause":                    {[]store.Limit{bucket}, 10, pause, 0, 7, 7},
		"a burst in a pause, and calls after it": {[]store.Limit{bucket}, 0, pause, 0, 12, -1},
		"a log in a pause":                       {[]store.Limit{log}, 0, pause, 0, 25, 25},
		"a bucket and a log":                     {both, 10, 0, 0, 7, 7},
		"a bucket and a log in a pause":          {both, 0, pause, 0, 12, 12},
		"a log that a queue of a bucket gets":    {both, 10, 0, 5, 2, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k Key
			one := test.limits[:1]
			take(&k, charges(test.before, one...), begun, 0)
			k.Brake(charges(0, one...).Charges, &store.Brake{Pause: test.pause}, begun+1)
			for i := range test.alone + test.calls {
				limits := test.limits
				if i < test.alone {
					limits = one
				}
				if d, _ := take(&k, waiting(1, time.Hour, limits...), begun+2, 0); !d.Allowed || d.Delay == 0 {
					t.Fatalf("call %d does not wait: %+v", i, d)
				}
			}
			if _, _, got := k.Ahead(begun + 2); got != test.want {
				t.Errorf("%d bookings, want %d", got, test.want)
			}
		})
	}
}

// TestNobodyLeavesInAPauseOfOneKeyOfTwo: a slot that waits for another key leaves at the end
// of a pause, too.
func TestNobodyLeavesInAPauseOfOneKeyOfTwo(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.GCRA, store.FixedWindow, store.AlignedWindow, store.SlidingCounter, store.SlidingWindow} {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			var k, other Key
			l, slow := store.Per(1, 10*time.Second).By(a), store.Per(1, 25*time.Second)
			take(&k, charges(1, l), begun, 0)
			take(&other, charges(1, slow), begun, 0)
			take(&k, waiting(1, time.Hour, l), begun, 0)
			both := waiting(1, time.Hour, l, slow)
			groups := []Group{{Key: &k, Charges: both.Charges[:1]}, {Key: &other, Charges: both.Charges[1:]}}
			var v Verdict
			Take(both, groups, make([]Outcome, 2), &v, begun, 0, nil)
			slot := groups[0].Found.Slot
			const pausedAt = begun + 22_000_000
			k.Brake(charges(0, l).Charges, &store.Brake{Pause: time.Minute}, pausedAt)
			if leaves := k.Clock.Real(slot); leaves < pausedAt+60_000_000 {
				t.Errorf("a call leaves %v before the end of the pause", time.Duration(pausedAt+60_000_000-leaves)*time.Microsecond)
			}
		})
	}
}
