package exact

import "math/bits"

// Ahead returns the first and the last slot ahead, by the store's clock, and the number of
// bookings ahead. First is a lower bound. Without slots ahead all are 0. Bookings are -1 if
// the state does not give their number.
func (k *Key) Ahead(now int64) (first, last, bookings int64) {
	first = k.first(now)
	if first == 0 {
		return 0, 0, 0
	}
	last = max(k.Queue.Last, first)
	return max(k.Clock.Real(first), now), max(k.Clock.Real(last), now), k.bookings(first, last)
}

// bookings counts the bookings of slots from first to last.
func (k *Key) bookings(first, last int64) int64 {
	switch {
	case k.logs():
		count := int64(0)
		for n := k.Log.search(k.Log.First, func(n int64) bool { return k.Log.at(n) >= first }); n < k.Log.end(); n++ {
			if k.Log.sum(n) != k.Log.sum(n+1) { // Else the booking was given back.
				count++
			}
		}
		return max(count, 1)
	case k.Queue.Cost > 0 && len(k.Parts) == 1:
		// Slots lie Cost emission intervals apart, and are rounded.
		p := &k.Parts[0].Rule.Pace
		hi, step := bits.Mul64(uint64(k.Queue.Cost), uint64(p.Num))
		distance := uint64(last-first) + step/uint64(p.Den)/2
		top, all := bits.Mul64(distance, uint64(p.Den))
		if hi > 0 || step == 0 || top >= step {
			break
		}
		n, _ := bits.Div64(top, all, step)
		return int64(n) + 1
	}
	return -1
}
