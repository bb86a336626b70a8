package exact

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/goweir/weir/store"
)

// Unit returns the time between two units, in whole microseconds, of the slowest limit with at
// least one unit per gap of the brake, or else of the fastest limit.
func Unit(charges []store.Charge, b *store.Brake) int64 {
	fastest, slowest := maxGap, int64(0)
	for i := range charges {
		num, den := emission(&charges[i].Limit)
		unit := max(num/den, 1)
		if fastest = min(fastest, unit); unit <= Whole(b.Gap) {
			slowest = max(slowest, unit)
		}
	}
	return cmp.Or(slowest, fastest)
}

// Brake changes the key's clock as a valid brake asks. The charges name limits of the
// key. It returns nil when nothing changes.
func (k *Key) Brake(charges []store.Charge, b *store.Brake, now int64) *Move {
	k.drop(now)
	first := k.first(now)
	clock, changed := k.Clock.Apply(b, Unit(charges, b), first, now)
	if !changed {
		return nil
	}
	m := &Move{Clock: clock, Before: k.Clock, First: first}
	if clock.IsZero() {
		m.Clock = Clock{At: now, V: now}
	}
	moved := false
	for i := range k.Parts {
		switch p := &k.Parts[i]; {
		case p.inRealTime():
			start := m.window(p.Rule.Limit.Algorithm, p.Rule.Period, p.State.A)
			moved, p.State.A = moved || start != p.State.A, start
		case p.Left > 0: // Its units lapse in the key's time.
			p.Left = m.Clock.Real(m.Before.Now(p.Left))
		}
	}
	k.Clock = clock
	if moved && k.Queue.Tag != 0 {
		k.Queue.Seq++
	}
	k.Born = cmp.Or(k.Born, now)
	return m
}

// first returns the first slot ahead, or a lower bound; 0: none is ahead.
func (k *Key) first(now int64) int64 {
	q, v := &k.Queue, k.Clock.Now(now)
	switch {
	case k.Clock.Paused(now) && k.Clock.Stand > 0:
		return max(k.Clock.Stand, v)
	case q.Last <= v:
		return 0
	case k.logs() == len(k.Parts): // Other limits may have slots without units in the log.
		n := k.Log.search(k.Log.First, func(n int64) bool { return k.Log.at(n) > v })
		for n < k.Log.end()-1 && k.Log.sum(n) == k.Log.sum(n+1) {
			n++ // The booking was given back.
		}
		if n < k.Log.end() {
			return k.Log.at(n)
		}
	case q.First > v:
		return q.First
	default:
		if num, den := k.apart(); num > 0 {
			n, _ := MulDiv(v-q.First, den, num)
			d, _ := MulDiv(n+1, num, den)
			return max(q.First+d, v)
		}
	}
	return v
}

// apart returns the even distance of the slots ahead as a fraction; num 0: it is uneven.
func (k *Key) apart() (num, den int64) {
	if len(k.Parts) == 1 && k.Queue.Cost > 0 {
		p := &k.Parts[0].Rule.Pace
		if k.Parts[0].inRealTime() {
			return k.Parts[0].Rule.Period, 1
		}
		if hi, lo := bits.Mul64(uint64(k.Queue.Cost), uint64(p.Num)); hi == 0 && lo > 0 && lo <= math.MaxInt64 {
			return int64(lo), p.Den
		}
	}
	return 0, 1
}

// Ahead returns the first and the last slot ahead, by the store's clock, and the number of
// bookings ahead. First is a lower bound. Without slots ahead all are 0. Bookings are -1 if
// the state does not give their number.
func (k *Key) Ahead(now int64) (first, last, bookings int64) {
	if first = k.first(now); first == 0 {
		return 0, 0, 0
	}
	last = max(k.Queue.Last, first)
	return max(k.Clock.Real(first), now), max(k.Clock.Real(last), now), k.bookings(first, last)
}

// bookings counts the bookings of slots from first to last; -1: the state does not know all.
func (k *Key) bookings(first, last int64) int64 {
	if k.logs() > 0 {
		n, count := k.Log.search(k.Log.First, func(n int64) bool { return k.Log.at(n) >= first }), int64(0)
		if k.logs() < len(k.Parts) && n == k.Log.First && (n == k.Log.end() || k.Log.at(n) > first) {
			return -1 // The log may be younger than bookings ahead.
		}
		for ; n < k.Log.end(); n++ {
			if k.Log.sum(n) != k.Log.sum(n+1) { // Else the booking was given back.
				count++
			}
		}
		return max(count, 1)
	}
	num, den := k.apart()
	distance := last - first + num/den/2 // Slots are rounded.
	if hi, _ := bits.Mul64(uint64(distance), uint64(den)); hi >= uint64(num) || first < k.Queue.First || k.Parts[0].inRealTime() {
		return -1 // Several calls may share a window, or stand before the queue, in a burst.
	}
	n, _ := MulDiv(distance, den, num)
	return n + 1
}
