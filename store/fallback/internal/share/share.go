// Package share divides limits among processes, for the time in which each decides by
// itself.
package share

import (
	"math/bits"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// mostParts bounds how small a share is: about so many calls of a share fill the limit.
const mostParts = 1024

// Charges returns the charges with one of n shares of their limits.
func Charges(charges []store.Charge, n int64) []store.Charge {
	if n == 1 {
		return charges
	}
	shared := append([]store.Charge(nil), charges...)
	for i := range shared {
		shared[i].Limit = limit(shared[i].Limit, n)
		shared[i].Reserve /= n
	}
	return shared
}

// limit divides a limit by n, so that n shares together keep the rate:
//
//	bucket         the rate exactly, in a longer period, and a part of the burst
//	window         a part of the rate, rounded down
//	 below 1 unit  1 unit in a longer window
//	 n > mostParts 1/mostParts of the rate, in a window n/mostParts times as long
//
// The share does not depend on the cost of a call: with a limit for each cost, the key's
// state would change with every call.
func limit(l store.Limit, n int64) store.Limit {
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

// Brake returns a brake for one of n shares of a rate: gaps grow by n.
func Brake(b store.Brake, n int64) store.Brake {
	b.Gap = min(times(b.Gap, n, 1), store.MaxPeriod/4)
	b.Cut.Unit = min(times(b.Cut.Unit, n, 1), store.MaxPeriod/4)
	return b
}

// State turns the state of a whole limit at an instant into one of a share. Slots that lie
// ahead stay as far ahead.
func State(whole, share *exact.Rule, s exact.State, now int64) exact.State {
	if whole.Limit.Algorithm != store.GCRA {
		s.B, s.C = Scale(s.B, share.Max, whole.Max), Scale(s.C, share.Max, whole.Max)
		return s
	}
	backlog, full, most := s.A+min(s.B, 1)-now, whole.Pace.Full.Whole, share.Pace.Full.Whole
	if backlog > 0 && most < full {
		backlog = Scale(min(backlog, full), most, full) + max(backlog-full, 0)
	}
	return exact.State{A: now + backlog}
}

// Scale returns (n-1)·to/from, rounded down, plus 1; at most store.MaxUnits. It is 0 only
// for 0.
func Scale(n, to, from int64) int64 {
	if n == 0 {
		return 0
	}
	q, _ := mulDiv(n-1, to, from, store.MaxUnits)
	return min(q+1, store.MaxUnits)
}

// times returns d·a/b in whole microseconds, rounded up, at most store.MaxPeriod.
func times(d time.Duration, a, b int64) time.Duration {
	const most = int64(store.MaxPeriod / time.Microsecond)
	q, rest := mulDiv(int64(d/time.Microsecond), a, b, most)
	if rest {
		q++
	}
	return time.Duration(min(q, most)) * time.Microsecond
}

// mulDiv is exact.MulDiv for any quotient. It returns at most most.
func mulDiv(a, b, c, most int64) (q int64, rest bool) {
	if hi, _ := bits.Mul64(uint64(a), uint64(b)); hi >= uint64(c) {
		return most, false
	}
	if q, rest = exact.MulDiv(a, b, c); q < 0 {
		return most, false
	}
	return min(q, most), rest
}
