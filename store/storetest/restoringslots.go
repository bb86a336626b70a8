package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/store"
)

// slotOf returns the instant of a granted slot.
func slotOf(d store.Decision) store.Instant { return d.At + store.Instant(d.Delay.Microseconds()) }

// restoredSlots: new slots come after slots promised before a loss, or without the store.
func restoredSlots(r *run) {
	for i, limits := range lossSets() {
		if limits[0].Rate > 1000 {
			continue
		}
		a, b, c, e := fmt.Sprint("kept ", i), fmt.Sprint("lost ", i), fmt.Sprint("spent ", i), fmt.Sprint("given back ", i)
		req := charge(a, 5, limits...)
		req.MaxWait = time.Hour
		d, m := r.tell(req)
		for range 4 {
			d, m = r.tell(req)
		}
		if m.Last != slotOf(d) || d.Delay == 0 {
			r.Fatalf("%v: the last slot is %d, want %+v", limits, m.Last, d)
		}
		r.sleep(time.Millisecond)
		r.take(charge(b, 1, limits...))
		r.take(charge(c, 1, limits...))
		r.restore(of(m, b), true)
		r.restore(of(m, b), true)
		r.restore(store.Memory{Key: c, Limits: limits, Spent: make([]store.Used, len(limits)), Ahead: m.Last, ID: "one"}, false)
		none := of(m, e)
		none.Known = make([]store.Used, len(limits))
		r.restore(none, true)
		for _, key := range []string{b, c, e} {
			if d := r.take(charge(key, 1, limits...)); d.Allowed || slotOf(d)+store.Instant(d.RetryAfter.Microseconds()) < m.Last {
				r.Errorf("%v, %s: a call goes before a slot in %d µs: %+v", limits, key, m.Last-d.At, d)
			}
			next := r.reserve(key, 1, 2*time.Hour, limits...)
			if !next.Allowed || slotOf(next) < m.Last {
				r.Errorf("%v, %s: a slot before one in %d µs: %+v", limits, key, m.Last-next.At, next)
			}
			later := r.reserve(key, 5, 2*time.Hour, limits...)
			if !later.Allowed || slotOf(later) < slotOf(next) || slotOf(later) > m.Last+3*store.Instant(limits[len(limits)-1].Period.Microseconds()) {
				r.Errorf("%v, %s: a slot before one in %v, or far behind it: %+v", limits, key, next.Delay, later)
			}
		}
	}
}

// spentAhead: units spent at slots ahead keep later slots apart, also on a key that is full now.
func spentAhead(r *run) {
	for _, l := range append(each(2, time.Second), store.Per(1, 1050*time.Millisecond).By(store.SlidingWindow)) {
		kept, spent := fmt.Sprint("kept ", l, l.Algorithm), fmt.Sprint("full, and spent ahead ", l, l.Algorithm)
		r.take(charge(spent, l.Max(), l))
		req := charge(kept, l.Max(), l)
		req.MaxWait = time.Hour
		r.tell(req)
		_, m := r.tell(req)
		r.restore(store.Memory{Key: spent, Limits: m.Limits, Spent: m.Known, Ahead: m.Last, ID: "one"}, false)
		want, got := r.reserve(kept, 1, time.Hour, l), r.reserve(spent, 1, time.Hour, l)
		if !got.Allowed || slotOf(got) < slotOf(want) {
			r.Errorf("%v, %v: a slot %d µs before the end of the spent units: %+v", l.Algorithm, l, slotOf(want)-slotOf(got), got)
		}
	}
}

// restoredPaused: a pause after a loss holds all callers with earlier slots.
func restoredPaused(r *run) {
	for _, l := range append(each(2, time.Second), store.Per(7, 3*time.Second)) {
		for _, spent := range []bool{false, true} {
			for _, later := range []time.Duration{0, 1200 * time.Millisecond} {
				a, b := fmt.Sprint("kept ", l, l.Algorithm, spent, later), fmt.Sprint("lost ", l, l.Algorithm, spent, later)
				var slots []store.Decision
				var m store.Memory
				for range 12 {
					req := charge(a, 1, l)
					req.MaxWait = time.Hour
					var d store.Decision
					d, m = r.tell(req)
					slots = append(slots, d)
				}
				r.sleep(time.Millisecond)
				m = of(m, b)
				if spent {
					m = store.Memory{Key: b, Limits: m.Limits, Spent: m.Known, Ahead: m.Last, ID: "one"}
				}
				r.restore(m, !spent)
				r.reserve(b, 1, time.Hour, l)
				r.sleep(later)
				now := r.look(b, l).At
				r.brake(b, store.Brake{Pause: 30 * time.Second}, l)
				d := r.look(b, l)
				for _, s := range slots {
					// An earlier slot of the key's time is at the same instant.
					if at := slotOf(s); at > now && real(d.Clock, at) < now+30_000_000 {
						r.Errorf("%v, %v: a slot in %d µs leaves in a pause, in %d", l.Algorithm, l, at-now, real(d.Clock, at)-now)
					}
				}
			}
		}
	}
}

// restoredSettled: bookings after a loss can be given back and corrected.
func restoredSettled(r *run) {
	rng := rand.New(rand.NewPCG(53, 54))
	for i, limits := range lossSets() {
		for _, to := range []int64{0, 1, 2, 5} {
			for _, again := range []bool{false, true} {
				a, b := fmt.Sprint("kept ", i, to, again), fmt.Sprint("lost ", i, to, again)
				_, m := r.tell(charge(a, 2, limits...))
				r.sleep(time.Microsecond)
				r.restore(of(m, b), true)
				x, y := r.reserve(a, 3, time.Hour, limits...), r.reserve(b, 3, time.Hour, limits...)
				if again {
					r.restore(of(m, b), true)
				}
				r.alike("booked after a loss", y, x, limits)
				r.settle(x, to)
				r.settle(y, to)
				r.alikeFor(fmt.Sprintf("3 settled at %d after a loss", to), rng, b, a, limits)
			}
		}
	}
}
