package exact

import (
	"math"
	"math/bits"
	"time"

	"github.com/goweir/weir/store"
)

// Move is a change of a key's clock. It implements store.Clock.
//
// Windows ahead move with the clock. A fixed window moves with its start. All aligned
// windows move by the whole periods of the first slot ahead, so no two become one.
type Move struct {
	Clock
	Before Clock // until Clock.At
	First  int64 // in the key's time; 0: no slot is ahead
}

// Real implements store.Clock.
func (m *Move) Real(slot store.Instant) store.Instant {
	at := m.Clock.Real(int64(slot))
	if m.Stand == 0 && int64(slot) > m.V { // Booked after the pause was set: v stands there.
		at = max(at, m.Until)
	}
	return store.Instant(at)
}

// Set implements store.Clock.
func (m *Move) Set() store.Instant { return store.Instant(m.Clock.At) }

// Gap implements store.Clock.
func (m *Move) Gap(at store.Instant) time.Duration { return micros(m.Advertised(int64(at))) }

// Counts implements store.Clock.
func (m *Move) Counts(receipt any, before store.Instant) bool {
	r, ok := receipt.(interface {
		Windows() (real int64, list []Window)
	})
	if !ok {
		return true
	}
	real, list := r.Windows()
	slot := m.Clock.Real(m.Before.Now(int64(before)))
	for _, w := range list {
		start := w.Start
		if w.Algorithm == store.FixedWindow {
			start += int64(before) - real
		} else {
			start = align(int64(before), w.Period)
		}
		if start = m.window(w.Algorithm, w.Period, start); slot < start || slot >= start+w.Period {
			return false
		}
	}
	return true
}

// Window is a window with a beginning that counted a booking.
type Window struct {
	Algorithm     store.Algorithm
	Period, Start int64
}

// window returns the start of a window after the move. No window ahead moves into the
// present one, whose units are not known any more.
func (m *Move) window(a store.Algorithm, period, start int64) int64 {
	if start <= m.At || m.First == 0 {
		return start
	}
	cut := func(t int64) int64 { return t }
	if a != store.FixedWindow {
		cut = func(t int64) int64 { return align(t, period) }
	}
	first := cut(m.Before.Real(m.First))
	by := max(cut(m.Clock.Real(m.First))-first, min(cut(m.At)+period-first, 0))
	if a != store.FixedWindow {
		return start + by
	}
	return max(m.Clock.Real(m.Before.Now(start)), start+by)
}

// Fastest returns the time between two units of the fastest limit, in whole
// microseconds, at least one.
func Fastest(charges []store.Charge) int64 {
	unit := maxGap
	for i := range charges {
		num, den := Emission(&charges[i].Limit)
		unit = min(unit, max(num/den, 1))
	}
	return unit
}

// Brake changes the key's clock as a valid brake asks. The charges name limits of the
// key. It returns nil when nothing changes.
func (k *Key) Brake(charges []store.Charge, b *store.Brake, now int64) *Move {
	k.drop(now)
	first := k.first(now)
	clock, changed := k.Clock.Apply(b, Fastest(charges), first, now)
	if !changed {
		return nil
	}
	m := &Move{Clock: clock, Before: k.Clock, First: first}
	if clock.IsZero() {
		m.Clock = Clock{At: now, V: now}
	}
	moved := false
	for i := range k.Parts {
		if p := &k.Parts[i]; InRealTime(p.Rule.Limit.Algorithm) {
			was := p.State.A
			p.State.A = m.window(p.Rule.Limit.Algorithm, p.Rule.Period, was)
			moved = moved || p.State.A != was
		}
	}
	k.Clock = clock
	if moved && k.Queue.Tag != 0 {
		k.Queue.Seq++
	}
	if k.Born == 0 {
		k.Born = now
	}
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
	case k.logs():
		n := k.Log.search(k.Log.First, func(n int64) bool { return k.Log.at(n) > v })
		for n < k.Log.end()-1 && k.Log.sum(n) == k.Log.sum(n+1) {
			n++ // The booking was given back.
		}
		if n < k.Log.end() {
			return k.Log.at(n)
		}
	case q.First > v:
		return q.First
	case q.Cost > 0 && len(k.Parts) == 1:
		// Slots lie Cost emission intervals apart.
		p := &k.Parts[0].Rule.Pace
		hi, step := bits.Mul64(uint64(q.Cost), uint64(p.Num))
		if hi > 0 || step > math.MaxInt64 {
			break
		}
		n, _ := MulDiv(v-q.First, p.Den, int64(step))
		d, _ := MulDiv(n+1, int64(step), p.Den)
		return max(q.First+d, v)
	}
	return v
}

func (k *Key) logs() bool {
	for i := range k.Parts {
		if k.Parts[i].Rule.Limit.Algorithm == store.SlidingWindow {
			return true
		}
	}
	return false
}
