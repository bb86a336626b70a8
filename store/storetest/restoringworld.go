package storetest

import (
	"math/big"
	"math/bits"

	"github.com/goweir/weir/store"
)

// set is a set of a story's units, by their numbers.
type set uint64

func (s set) has(i int) bool { return s>>i&1 == 1 }

// worlds are the sets of units that callers know. A key counts as much as the fullest set.
type worlds []set

// and returns the worlds of both, without those that others contain.
func (w worlds) and(other worlds) worlds {
	var all worlds
	for _, s := range append(append(worlds(nil), w...), other...) {
		more := false
		for _, t := range all {
			more = more || s&^t == 0
		}
		if more {
			continue
		}
		left := all[:0]
		for _, t := range all {
			if t&^s != 0 {
				left = append(left, t)
			}
		}
		all = append(left, s)
	}
	return all
}

// plus adds units to all worlds.
func (w worlds) plus(s set) worlds {
	var all worlds
	for _, t := range w {
		all = append(all, s|t)
	}
	return all.and(nil)
}

// usage returns the used units of a limit, or for GCRA the microseconds until it is full.
func (w worlds) usage(l store.Limit, acts []act, now int64) (most int64) {
	for _, s := range w {
		var in []act
		for rest := s; rest != 0; rest &= rest - 1 {
			in = append(in, acts[bits.TrailingZeros64(uint64(rest))])
		}
		most = max(most, usage(l, in, now))
	}
	return most
}

// over reports whether a limit is used beyond its brim.
func (w worlds) over(l store.Limit, acts []act, now int64) bool {
	brim, p := l.Rate, l.Period.Microseconds()
	switch l.Algorithm {
	case store.GCRA:
		brim = p
	case store.SlidingCounter:
		now -= now % p // The window before counts in full.
	}
	return w.usage(l, acts, now) > brim
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
