package storetest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// settleSafe: bookings are settled in any order. A slot is granted only if the limit has room
// by the costs known then.
func settleSafe(r *run) {
	rng := rand.New(rand.NewPCG(7, 8))
	now := startMicros
	for round := range long.Of(60) {
		l := randomLimit(rng)
		l.Rate = 1 + l.Rate%30
		l.Burst = min(l.Burst, 2*l.Rate)
		limits := []store.Limit{l}
		if round%3 == 0 {
			limits = append(limits, store.Per(2*l.Rate, 3*l.Period))
		}
		key := fmt.Sprint("safe ", round)
		model := make([][]act, len(limits)) // the units under each limit
		type booking struct {
			place int
			cost  int64
			d     store.Decision
		}
		var open []booking
		for range 120 {
			switch rng.IntN(6) {
			case 0, 1:
				step := rng.Int64N(l.Period.Microseconds()/3 + 1)
				r.sleep(time.Duration(step) * time.Microsecond)
				now += step
			case 2, 3:
				cost := 1 + rng.Int64N(max(l.Max()/2, 1))
				d := r.reserve(key, cost, 3*l.Period, limits...)
				if !d.Allowed {
					continue
				}
				open = append(open, booking{len(model[0]), cost, d})
				for i, l := range limits {
					model[i] = append(model[i], act{now + d.Delay.Microseconds(), cost})
					if !room(l, model[i]) {
						r.Fatalf("round %d: %v %v burst %d had no room for the last of %v", round, l.Algorithm, l, l.Burst, model[i])
					}
				}
			default:
				if len(open) == 0 {
					continue
				}
				i := rng.IntN(len(open))
				b := open[i]
				open = slices.Delete(open, i, i+1)
				actual := rng.Int64N(2 * b.cost)
				if rng.IntN(10) == 0 {
					actual = 5 * b.cost
				}
				r.must(r.store.(store.Settler).Settle(context.Background(), b.d.Receipt, actual))
				for i, l := range limits {
					if actual < b.cost || l.Algorithm != store.GCRA || !fullSince(l, model[i], b.place, now) {
						model[i][b.place].cost = actual
					}
				}
			}
		}
	}
}

// startMicros is the start of a case's clock, for aligned windows.
const startMicros int64 = 946684800_000_000

// room reports whether a limit admits the last act after the others. Acts are in order of
// time. GCRA may be off by two microseconds of rounding. The start of a fixed window depends
// on later settling, so only the last instant is checked.
func room(l store.Limit, acts []act) bool {
	last := acts[len(acts)-1]
	switch l.Algorithm {
	case store.GCRA:
		full := new(big.Rat).Sub(arrivals(l, acts)[len(acts)], duration(l, l.Max()))
		return full.Cmp(new(big.Rat).SetInt64(last.at+2)) <= 0
	case store.FixedWindow:
		// A window in debt holds more than the rate before the last act.
		units := int64(0)
		for _, a := range acts {
			if a.at == last.at {
				units += a.cost
			}
		}
		return units <= l.Rate
	}
	return usage(l, acts, last.at) <= l.Rate
}

func duration(l store.Limit, n int64) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(l.Period.Microseconds(), l.Rate), new(big.Rat).SetInt64(n))
}

// arrivals returns GCRA's theoretical arrival time before each act, and after the last one.
func arrivals(l store.Limit, acts []act) []*big.Rat {
	tats := []*big.Rat{new(big.Rat)}
	for i, a := range acts {
		tat := tats[i]
		if at := new(big.Rat).SetInt64(a.at); a.cost > 0 && tat.Cmp(at) < 0 {
			tat = at
		}
		tats = append(tats, new(big.Rat).Add(tat, duration(l, a.cost)))
	}
	return tats
}

// fullSince reports whether a bucket was full after an act, and so has forgotten it.
func fullSince(l store.Limit, acts []act, place int, now int64) bool {
	tats := arrivals(l, acts)
	for i := place + 1; i <= len(acts); i++ {
		at := now + 1
		if i < len(acts) {
			at = acts[i].at
		}
		if tats[i].Cmp(new(big.Rat).SetInt64(at)) < 0 {
			return true
		}
	}
	return false
}

// usage returns how much of a limit acts use. They are in order of time.
func usage(l store.Limit, acts []act, now int64) (n int64) {
	p := l.Period.Microseconds()
	switch l.Algorithm {
	case store.GCRA:
		ahead := new(big.Rat).Sub(arrivals(l, acts)[len(acts)], new(big.Rat).SetInt64(now))
		if ahead.Sign() <= 0 {
			return 0
		}
		up := new(big.Int).Add(ahead.Num(), new(big.Int).Sub(ahead.Denom(), big.NewInt(1)))
		return up.Div(up, ahead.Denom()).Int64()
	case store.FixedWindow:
		start := int64(0)
		for _, a := range acts {
			if a.cost > 0 && (n == 0 || a.at >= start+p) {
				start, n = a.at, 0
			}
			n += a.cost
		}
		if now >= start+p {
			return 0
		}
		return n
	}
	window, before := now-now%p, int64(0)
	for _, a := range acts {
		switch {
		case l.Algorithm == store.SlidingWindow && a.at > now-p, l.Algorithm != store.SlidingWindow && a.at >= window:
			n += a.cost
		case l.Algorithm == store.SlidingCounter && a.at >= window-p:
			before += a.cost
		}
	}
	weight := new(big.Int).Mul(big.NewInt(before), big.NewInt(window+p-now))
	weight.Add(weight, big.NewInt(p-1)).Div(weight, big.NewInt(p))
	return n + weight.Int64()
}
