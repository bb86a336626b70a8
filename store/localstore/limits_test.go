package localstore_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// TestExtremeLimits: nothing overflows at the documented bounds. All units can be taken once,
// no more, and all again after that time.
func TestExtremeLimits(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, l := range []store.Limit{
			{Rate: 1, Period: time.Microsecond},
			{Rate: 1, Period: store.MaxPeriod},
			{Rate: store.MaxUnits, Period: time.Microsecond},
			{Rate: store.MaxUnits, Period: store.MaxPeriod},
			{Rate: store.MaxUnits - 1, Period: store.MaxPeriod - time.Microsecond},
			{Rate: store.MaxPeriod.Microseconds() - 1, Period: store.MaxPeriod},
			{Rate: store.MaxUnits, Period: time.Microsecond, Burst: 1},
			{Rate: 1, Period: time.Microsecond, Burst: store.MaxUnits},
			{Rate: 1, Period: store.MaxPeriod, Burst: 1},
		} {
			l.Algorithm = a
			if l.Validate() != nil {
				continue // Only GCRA has a burst, and a rate is above the bound.
			}
			t.Run(fmt.Sprint(a, " ", l, " burst ", l.Burst), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { extreme(t, l) })
			})
		}
	}
}

func extreme(t *testing.T, l store.Limit) {
	s := open(t)
	time.Sleep(time.Until(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)))
	most := l.Max()
	for round := range 3 {
		if d := take(t, s, charge("key", 0, l)); d.Remaining != most || d.ResetAfter != 0 {
			t.Fatalf("round %d, before: %+v", round, d)
		}
		if d := take(t, s, charge("key", most, l)); !d.Allowed || d.Remaining != 0 || d.ResetAfter <= 0 || d.ResetAfter > 2*store.MaxPeriod {
			t.Fatalf("round %d, all of it: %+v", round, d)
		}
		for _, cost := range []int64{most, most + 1, store.MaxUnits, store.MaxUnits + 1, math.MaxInt64} {
			d := take(t, s, charge("key", cost, l))
			if never := cost > most; d.Allowed || never != (d.Reason == store.ReasonNeverFits) || never != (d.RetryAfter == store.Never) {
				t.Fatalf("round %d, %d more: %+v", round, cost, d)
			}
		}
		d := take(t, s, charge("key", most, l))
		s.Advance(d.RetryAfter)
		if d = take(t, s, charge("key", most, l)); !d.Allowed {
			t.Fatalf("round %d, after RetryAfter: %+v", round, d)
		}
		s.Advance(d.ResetAfter)
		if l.Period > store.MaxPeriod/10 {
			return // The clock has no time left for another round.
		}
	}
}

// TestLongestWait: no slot is granted further away than a quarter of store.MaxPeriod, and sums
// of bookings ahead do not overflow.
func TestLongestWait(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, period := range []time.Duration{time.Second, store.MaxPeriod / 100} {
			t.Run(fmt.Sprint(a, " ", period), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := open(t)
					l := store.Per(store.MaxUnits, period).By(a)
					req := charge("key", store.MaxUnits, l)
					req.MaxWait = math.MaxInt64
					var last time.Duration
					for i := range 20_000 {
						d := take(t, s, req)
						if !d.Allowed {
							if i < 4000 && period == time.Second || d.RetryAfter <= store.MaxPeriod/4 && a != store.SlidingWindow {
								t.Fatalf("booking %d: %+v", i, d)
							}
							return
						}
						if i > 1 && d.Delay < last+period || d.Delay > store.MaxPeriod/4 || d.Remaining != 0 {
							t.Fatalf("booking %d, the one before has a delay of %v: %+v", i, last, d)
						}
						last = d.Delay
					}
				})
			})
		}
	}
}

// TestChangedLimitsWithSlotsBookedAhead: slots stay booked when a key's limits change, and
// change back. Calls under the new limits come after them.
func TestChangedLimitsWithSlotsBookedAhead(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		slow := store.Per(5, time.Hour).By(a)
		for _, fast := range []store.Limit{store.Per(10, time.Second).By(a), store.Per(10, time.Hour).By(a), store.Per(10, time.Minute).By(a)} {
			for name, limits := range map[string][]store.Limit{"changed": {slow}, "removed": {slow, fast}} {
				t.Run(fmt.Sprint(a, "/", name, "/", fast), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { changedAhead(t, limits, fast) })
				})
			}
		}
	}
}

func changedAhead(t *testing.T, limits []store.Limit, fast store.Limit) {
	s := open(t)
	time.Sleep(time.Minute)
	req := charge("key", 1, limits...)
	req.MaxWait = 365 * 24 * time.Hour
	var last store.Decision
	for range 100 {
		last = take(t, s, req)
	}
	longest := 2 * fast.Period
	if d := take(t, s, charge("key", 1, fast)); d.Allowed || d.RetryAfter < last.Delay || d.RetryAfter > last.Delay+longest {
		t.Errorf("one of %v, with slots booked for %v: %+v", fast, last.Delay, d)
	}
	next := take(t, s, req)
	if !next.Allowed || next.Delay < last.Delay || next.Delay > last.Delay+2*time.Hour {
		t.Errorf("the next slot after %v: %+v", last.Delay, next)
	}
	time.Sleep(next.Delay + longest)
	all := take(t, s, charge("key", 10, fast)) // The used share carries over.
	if !all.Allowed && all.RetryAfter <= longest {
		time.Sleep(all.RetryAfter)
		all = take(t, s, charge("key", 10, fast))
	}
	if !all.Allowed {
		t.Errorf("all of %v after all that was booked: %+v", fast, all)
	}
}

// TestBurstThatIsTheRate: a burst equal to the rate is the same limit as no burst.
func TestBurstThatIsTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(3, time.Second)
		req := charge("key", 1, l)
		req.MaxWait = time.Hour
		for range 10 {
			take(t, s, req)
		}
		if a, b := take(t, s, charge("key", 0, l)), take(t, s, charge("key", 0, l.WithBurst(3))); a.ResetAfter != b.ResetAfter {
			t.Errorf("%v until the key is as new, %v under the same limit", a.ResetAfter, b.ResetAfter)
		}
	})
}
