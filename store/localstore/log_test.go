package localstore_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// TestLogOfLargeCostsIsSmall: a log takes memory for each call in the window, not for each
// unit.
func TestLogOfLargeCostsIsSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(store.MaxUnits, time.Second).By(store.SlidingWindow)
		for range 100_000 {
			take(t, s, charge("key", store.MaxUnits/10, l))
			s.Advance(100 * time.Millisecond)
		}
		if n, room := s.LogEntries("", "key"); n > 40 || room > 64 {
			t.Errorf("%d entries in room for %d, at most 10 of them are live", n, room)
		}
	})
}

// TestLogGivesBackWhatACrowdNeeded: a log shrinks while its key stays in use.
func TestLogGivesBackWhatACrowdNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		req := charge("key", 1, store.Per(100_000, time.Second).By(store.SlidingWindow))
		for range 100_000 {
			take(t, s, req)
			s.Advance(time.Microsecond)
		}
		for range 100 {
			s.Advance(100 * time.Millisecond)
			take(t, s, req)
		}
		if n, room := s.LogEntries("", "key"); n > 40 || room > 64 {
			t.Errorf("%d entries in room for %d", n, room)
		}
	})
}

// TestLogIsExact compares every decision with a log of all admitted units.
func TestLogIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 3))
			s := open(t)
			l := store.Per(1+rng.Int64N(40), time.Duration(1+rng.IntN(100))*time.Microsecond).By(store.SlidingWindow)
			type unit struct{ at, cost int64 }
			var all []unit
			var now, newest int64
			// fits reports whether all windows that hold an instant have room.
			fits := func(at, cost int64) bool {
				for _, u := range all {
					if u.at > at-l.Period.Microseconds() {
						cost += u.cost
					}
				}
				return cost <= l.Rate
			}
			for i := range 300 {
				step := rng.Int64N(l.Period.Microseconds()/2 + 1)
				s.Advance(time.Duration(step) * time.Microsecond)
				now += step
				req := charge("key", 1+rng.Int64N(l.Rate), l)
				if rng.IntN(3) == 0 {
					req.MaxWait = 2 * l.Period
				}
				want := max(now, newest)
				for !fits(want, req.Charges[0].Cost) {
					want++
				}
				d := take(t, s, req)
				if wait := time.Duration(want-now) * time.Microsecond; d.Allowed != (wait <= req.MaxWait) || d.Delay+d.RetryAfter != wait {
					t.Fatalf("seed %d, call %d, %v: %+v, want a slot after %v", seed, i, l, d, wait)
				}
				if d.Allowed {
					newest = want
					all = append(all, unit{want, req.Charges[0].Cost})
				}
				all = slices.DeleteFunc(all, func(u unit) bool { return u.at <= now-l.Period.Microseconds() })
			}
		}
	})
}

// TestLimitsThatComeLaterKnowTheLog: a sliding window added to a key counts the units known to
// the key's other windows, in any order of changes.
func TestLimitsThatComeLaterKnowTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for i, before := range [][]store.Limit{
			{store.Per(5, time.Minute)}, {store.Per(7, time.Second), store.Per(5, time.Minute)}, {store.Per(5, time.Minute), store.Per(7, time.Second)},
		} {
			s := open(t)
			for j := range before {
				before[j] = before[j].By(store.SlidingWindow)
			}
			take(t, s, charge("key", 4, before...))
			s.Advance(10 * time.Second)
			added := store.Per(20, 30*time.Second).By(store.SlidingWindow)
			for name, limits := range map[string][]store.Limit{
				"alone": {added}, "in front": append([]store.Limit{added}, before...), "at the end": append(slices.Clone(before), added),
			} {
				d := take(t, s, charge("key", 0, limits...))
				if got := d.Charge(slices.Index(limits, added)); got.Remaining != 16 || got.ResetAfter != 20*time.Second {
					t.Errorf("set %d, %s: %+v, want 4 of 20 used", i, name, got)
				}
			}
		}
	})
}
