package storetest

import (
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
