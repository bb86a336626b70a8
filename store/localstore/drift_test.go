package localstore_test

import (
	"math/bits"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
)

// decisions is the number of decisions of each test here. With the race detector, which has
// nothing to find in them, a million would take minutes.
func decisions() int64 {
	if long.Race {
		return 50_000
	}
	return long.Or[int64](1_000_000, 200_000)
}

var rates = []store.Limit{
	store.Per(3, time.Second), store.Per(7, 3*time.Second), store.Per(1_000_000, 24*time.Hour), store.Per(100_000_000, time.Second), store.Per(1, 365*24*time.Hour),
}

// TestNoDriftWhenPolling: a client that asks again after exactly RetryAfter gets the
// refilled units since the burst, no unit more or less.
func TestNoDriftWhenPolling(t *testing.T) {
	t.Parallel()
	for _, l := range rates {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				take(t, s, charge("key", l.Rate, l))
				longest := store.MaxPeriod
				if l.Period > 24*time.Hour {
					longest = l.Period / time.Duration(decisions()/100) // A million would take too many years.
				}
				req := charge("key", 1, l)
				var got, total int64
				var passed time.Duration
				for range decisions() {
					d := take(t, s, req)
					if d.Allowed {
						got++
					} else {
						wait := min(d.RetryAfter, longest.Round(time.Microsecond))
						s.Advance(wait)
						passed += wait
						if total = refilled(l, passed); wait == d.RetryAfter && total == got {
							t.Fatalf("after %v and %d units: RetryAfter has passed, nothing is refilled", passed, got)
						}
						continue
					}
					if d.Remaining != total-got {
						t.Fatalf("after %v and %d of %d units: %d remaining", passed, got, total, d.Remaining)
					}
				}
				if got < decisions()/3 && longest == store.MaxPeriod || got == 0 {
					t.Errorf("%d of %d calls were admitted", got, decisions())
				}
			})
		})
	}
}

// TestNoDriftWhenReserving: the n-th slot comes when n units are refilled.
func TestNoDriftWhenReserving(t *testing.T) {
	t.Parallel()
	for _, l := range rates {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				take(t, s, charge("key", l.Rate, l))
				req := charge("key", 1, l)
				req.MaxWait = store.MaxPeriod / 4
				for n := int64(1); n <= decisions(); n++ {
					want := ticks(l, n)
					d := take(t, s, req)
					if want > req.MaxWait {
						if d.Allowed || d.RetryAfter != want {
							t.Fatalf("slot %d, too far away: %+v, want one after %v", n, d, want)
						}
						break
					}
					if !d.Allowed || d.Delay != want {
						t.Fatalf("slot %d: %+v, want one after %v", n, d, want)
					}
				}
			})
		})
	}
}

// ticks returns the time in which a limit refills n units, rounded up.
func ticks(l store.Limit, n int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(l.Period.Microseconds()))
	q, r := bits.Div64(hi, lo, uint64(l.Rate))
	return time.Duration(q+min(r, 1)) * time.Microsecond
}

// refilled returns the number of units that a limit refills in a time.
func refilled(l store.Limit, d time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(d.Microseconds()), uint64(l.Rate))
	q, _ := bits.Div64(hi, lo, uint64(l.Period.Microseconds()))
	return int64(q)
}
