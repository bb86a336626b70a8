package fallback

import (
	"math/bits"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// mostParts bounds how small a share is: about so many calls of a share fill the limit.
const mostParts = 1024

// share returns the charges with this process's share of their limits, or the same
// charges for one process.
func share(charges []store.Charge, replicas int) []store.Charge {
	n := int64(max(replicas, 1))
	if n == 1 {
		return charges
	}
	shared := append([]store.Charge(nil), charges...)
	for i := range shared {
		shared[i].Limit = shareOf(shared[i].Limit, n)
		shared[i].Reserve /= n
	}
	return shared
}

// shareOf divides a limit by n, so that n shares together keep the rate:
//
//	bucket         the rate exactly, in a longer period, and a part of the burst
//	window         a part of the rate, rounded down
//	 below 1 unit  1 unit in a longer window
//	 n > mostParts 1/mostParts of the rate, in a window n/mostParts times as long
//
// The share does not depend on the cost of a call: with a limit for each cost, the key's
// state would change with every call.
func shareOf(l store.Limit, n int64) store.Limit {
	l.Name = l.Policy()
	k := min(n, mostParts)
	most := max(l.Max()/k, 1)
	if l.Algorithm == store.GCRA {
		l.Burst = most
		// A bucket that takes longer than MaxPeriod to fill is not valid.
		l.Period = max(min(times(l.Period, n, 1), times(store.MaxPeriod, l.Rate, most)-time.Microsecond), l.Period)
		return l
	}
	if most*k > l.Rate {
		l.Period = times(l.Period, most*k, l.Rate)
	}
	if n > k {
		l.Period = times(l.Period, n, k)
	}
	l.Rate = most
	return l
}

// times returns d·a/b in whole microseconds, rounded up, at most store.MaxPeriod.
func times(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d/time.Microsecond), uint64(a))
	if hi >= uint64(b) {
		return store.MaxPeriod
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	if q > uint64(store.MaxPeriod/time.Microsecond) {
		return store.MaxPeriod
	}
	return time.Duration(q) * time.Microsecond
}

// scale returns n·to/from, rounded down; at most store.MaxUnits.
func scale(n, to, from int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(to))
	if hi >= uint64(from) {
		return store.MaxUnits
	}
	q, _ := bits.Div64(hi, lo, uint64(from))
	return int64(min(q, store.MaxUnits))
}

// stateOfShare turns the state of a whole limit at an instant into one of this process's
// share. Slots that lie ahead stay as far ahead.
func stateOfShare(r, share *exact.Rule, s exact.State, now int64) exact.State {
	if r.Limit.Algorithm != store.GCRA {
		s.B, s.C = scaleUp(s.B, share.Max, r.Max), scaleUp(s.C, share.Max, r.Max)
		return s
	}
	backlog, full, most := s.A+min(s.B, 1)-now, r.Pace.Full.Whole, share.Pace.Full.Whole
	if backlog > 0 && most < full {
		backlog = scaleUp(min(backlog, full), most, full) + max(backlog-full, 0)
	}
	return exact.State{A: now + backlog}
}

// scaleUp returns n·to/from, rounded up; at most store.MaxUnits.
func scaleUp(n, to, from int64) int64 {
	if n == 0 {
		return 0
	}
	return min(scale(n-1, to, from)+1, store.MaxUnits)
}
