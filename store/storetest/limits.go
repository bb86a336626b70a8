package storetest

import (
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/store"
)

// each returns one small limit of every algorithm.
func each(rate int64, period time.Duration) []store.Limit {
	var all []store.Limit
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		all = append(all, store.Per(rate, period).By(a))
	}
	return all
}

// randomLimit returns usual and unusual limits.
func randomLimit(rng *rand.Rand) store.Limit {
	l := store.Limit{
		Rate:      []int64{1, 2, 3, 5, 7, 10, 25, 60, 99, 100}[rng.IntN(10)],
		Algorithm: store.Algorithm(rng.IntN(5)),
	}
	switch rng.IntN(4) {
	case 0:
		l.Period = []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[rng.IntN(4)]
	case 1:
		l.Period = time.Duration(1+rng.IntN(1000)) * time.Millisecond
	case 2:
		l.Period = time.Duration(1+rng.IntN(1_000_000)) * time.Microsecond
	case 3:
		l.Period = time.Duration(1+rng.IntN(400)) * 24 * time.Hour
	}
	if l.Algorithm == store.GCRA && rng.IntN(2) == 0 {
		l.Burst = 1 + rng.Int64N(2*l.Rate)
	}
	return l
}

// conforms reports whether acts, in order of time, keep the promise of a limit's algorithm
// about any stretch of time. GCRA may be off by two microseconds of rounding.
func conforms(l store.Limit, acts []act) bool {
	switch l.Algorithm {
	case store.GCRA:
		// In units of 1/Rate of a microsecond.
		period := l.Period.Microseconds()
		var tat int64
		for _, a := range acts {
			tat = max(tat, a.at*l.Rate) + a.cost*period
			if tat-l.Max()*period > (a.at+2)*l.Rate {
				return false
			}
		}
		return true
	case store.SlidingWindow:
		return within(acts, l.Period.Microseconds(), l.Rate)
	case store.AlignedWindow:
		units := map[int64]int64{}
		for _, a := range acts {
			if units[a.at/l.Period.Microseconds()] += a.cost; units[a.at/l.Period.Microseconds()] > l.Rate {
				return false
			}
		}
		return true
	default:
		return within(acts, l.Period.Microseconds(), 2*l.Rate)
	}
}

// act is a call that left: its instant by the store's clock in microseconds, and its units.
type act struct{ at, cost int64 }

// within reports whether every half-open interval of a length holds at most most units.
func within(acts []act, length, most int64) bool {
	var units int64
	first := 0
	for _, a := range acts {
		units += a.cost
		for acts[first].at <= a.at-length {
			units -= acts[first].cost
			first++
		}
		if units > most {
			return false
		}
	}
	return true
}
