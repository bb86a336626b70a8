package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// cancelSets returns limits alone and together.
func cancelSets() [][]store.Limit {
	sets := [][]store.Limit{
		{store.Per(2, time.Second), store.Per(5, time.Minute).By(store.SlidingWindow)},
		{store.Per(3, time.Second).By(store.FixedWindow), store.Per(7, 5*time.Second), store.Per(9, time.Minute).By(store.SlidingCounter)},
	}
	for _, l := range each(3, time.Second) {
		sets = append(sets, []store.Limit{l})
	}
	return sets
}

// cancel: calls that leave in reverse order leave the key unchanged, at once or later.
func cancel(r *run) {
	for i, limits := range cancelSets() {
		for used := range 7 {
			key := fmt.Sprint("cancel ", i, " ", used)
			for range used {
				r.reserve(key, 1, time.Hour, limits...)
			}
			var before, slots []store.Decision
			for n := range 6 {
				before = append(before, r.look(key, limits...))
				slots = append(slots, r.reserve(key, int64(1+n%2), time.Hour, limits...))
			}
			for n, d := range slices.Backward(slots) {
				r.cancel(d)
				r.same(fmt.Sprintf("%v, %d used, call %d left", limits, used, n), r.look(key, limits...), before[n])
			}
			r.sleep(time.Millisecond)
			granted := r.reserve(key, 2, time.Hour, limits...)
			r.sleep(time.Millisecond)
			r.cancel(granted)
			r.sleep(time.Millisecond)
			again := r.reserve(key, 2, time.Hour, limits...)
			if want := max(granted.Delay-2*time.Millisecond, 0); again.Delay != want {
				r.Errorf("%v, %d used: the returned slot was %v away, the next is %v", limits, used, want, again.Delay)
			}
		}
	}
	if err := r.store.(store.Canceler).Cancel(context.Background(), "not a receipt"); err == nil {
		r.Error("a receipt that is none was taken")
	}
}

// cancelAmong: calls leave in any order. The others keep their slots. The next call waits no
// longer than without the cancels.
func cancelAmong(r *run) {
	rng := rand.New(rand.NewPCG(17, 18))
	for i, limits := range cancelSets() {
		for round := range 4 {
			key, twin := fmt.Sprint("among ", i, round), fmt.Sprint("among twin ", i, round)
			var slots, stay []store.Decision
			for range 12 {
				slots = append(slots, r.reserve(key, 1, time.Hour, limits...))
				r.reserve(twin, 1, time.Hour, limits...)
			}
			for _, n := range rng.Perm(len(slots)) {
				if d := slots[n]; d.Delay == 0 || rng.IntN(3) == 0 {
					stay = append(stay, d)
				} else {
					r.cancel(d)
				}
			}
			last := slices.MaxFunc(stay, func(a, b store.Decision) int { return cmp.Compare(a.Delay, b.Delay) })
			d, longest := r.reserve(key, 1, time.Hour, limits...), r.reserve(twin, 1, time.Hour, limits...)
			if d.Delay < last.Delay || d.Delay > longest.Delay {
				r.Errorf("%v: a slot in %v, the last that stays is in %v, and without cancels it is in %v", limits, d.Delay, last.Delay, longest.Delay)
			}
			var acts []act
			for _, d := range append(stay, d) {
				acts = append(acts, act{int64(d.At) + d.Delay.Microseconds(), 1})
			}
			slices.SortFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
			for _, l := range limits {
				if !conforms(l, acts) {
					r.Errorf("%v: the calls that stay exceed %v: %v", limits, l, acts)
				}
			}
		}
	}
}

// cancelBraked: a slot returned in a pause, or after it, goes to the next call.
func cancelBraked(r *run) {
	for _, l := range each(2, time.Second) {
		for _, lifted := range []bool{false, true} {
			key := fmt.Sprint("braked ", l.Algorithm, lifted)
			r.take(charge(key, 2, l))
			first, last := r.reserve(key, 1, time.Hour, l), r.reserve(key, 1, time.Hour, l)
			r.brake(key, store.Brake{Pause: 10 * time.Second}, l)
			if lifted {
				r.brake(key, store.Brake{Lift: true}, l)
			}
			want := time.Duration(real(r.look(key, l).Clock, last.Slot)-last.At) * time.Microsecond
			r.cancel(last)
			if d := r.reserve(key, 1, time.Hour, l); d.Delay < want || d.Delay > want && l.Algorithm < store.SlidingCounter {
				r.Errorf("%v, lifted %t: the returned slot was %v away, the next is %v", l.Algorithm, lifted, want, d.Delay)
			}
			if _, ok := r.store.(store.Settler); ok {
				r.settle(first, 0)
			}
		}
	}
}

// cancelApart: a call gives back its own units alone. After a Reset it gives back none.
func cancelApart(r *run) {
	for _, l := range each(10, time.Hour) {
		key := "apart " + l.Algorithm.String()
		one, two := r.reserve(key, 3, 0, l), r.reserve(key, 5, 0, l)
		r.cancel(one)
		if d := r.look(key, l); d.Remaining > 5 || d.Remaining < 5 && l.Algorithm != store.GCRA {
			r.Errorf("%v: 3 of 8 units are given back: %+v", l.Algorithm, d)
		}
		three := r.reserve(key, 2, 0, l)
		r.cancel(two)
		if d := r.look(key, l); d.Remaining > 8 || d.Remaining < 8 && l.Algorithm != store.GCRA {
			r.Errorf("%v: 8 of 10 units are given back: %+v", l.Algorithm, d)
		}
		if _, ok := r.store.(store.Resetter); !ok {
			continue
		}
		r.reset(key)
		r.sleep(time.Millisecond)
		r.reserve(key, 7, 0, l)
		ahead := r.reserve(key, 9, 24*time.Hour, l)
		before := r.look(key, l)
		r.cancel(three)
		r.same(fmt.Sprint(l.Algorithm, ": cancelled after a reset"), r.look(key, l), before)
		if d := r.reserve(key, 9, 48*time.Hour, l); d.Delay <= ahead.Delay {
			r.Errorf("%v: a slot in %v, though the one in %v is taken", l.Algorithm, d.Delay, ahead.Delay)
		}
	}
}

// credit: after random reservations and cancels, the remaining calls stay within the limits.
func credit(r *run) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range long.Of(40) {
		l := randomLimit(rng)
		l.Rate = 1 + l.Rate%10
		l.Burst = min(l.Burst, 2*l.Rate)
		limits := []store.Limit{l}
		if round%3 == 0 {
			limits = append(limits, store.Per(2*l.Rate, 3*l.Period))
		}
		key := fmt.Sprint("credit ", round)
		type slot struct {
			act
			d store.Decision
		}
		var slots []slot
		for range 120 {
			switch rng.IntN(5) {
			case 0, 1:
				r.sleep(time.Duration(rng.Int64N(l.Period.Microseconds()/2+1)) * time.Microsecond)
			case 2, 3:
				cost := 1 + rng.Int64N(max(l.Max()/2, 1))
				if d := r.reserve(key, cost, 3*l.Period, limits...); d.Allowed {
					slots = append(slots, slot{act{int64(d.At) + d.Delay.Microseconds(), cost}, d})
				}
			case 4:
				if len(slots) == 0 {
					continue
				}
				i := rng.IntN(len(slots))
				// Mostly slots ahead.
				if slots[i].at < int64(r.look(key, l).At) && rng.IntN(4) > 0 {
					continue
				}
				r.cancel(slots[i].d)
				slots = slices.Delete(slots, i, i+1)
			}
		}
		var acts []act
		for _, s := range slots {
			acts = append(acts, s.act)
		}
		if !slices.IsSortedFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) }) {
			r.Errorf("%v: slots are not in the order of their grants", limits)
		}
		for _, l := range limits {
			if !conforms(l, acts) {
				r.Errorf("round %d: the calls that were not cancelled exceed %v: %v", round, describe([]store.Limit{l}), acts)
			}
		}
	}
}

// notKept: a store keeps nothing of a request: its caller may reuse the memory.
func notKept(r *run) {
	more := store.Per(10, 24*time.Hour)
	for _, l := range each(5, time.Hour) {
		key := "kept " + l.Algorithm.String()
		req := charge(key, 5, l, more)
		req.Cancelable = true
		d := r.take(req)
		req.Charges[0] = store.Charge{Key: "another", Limit: store.Per(1, time.Second), Cost: 1}
		req.Charges[1] = req.Charges[0]
		r.cancel(d)
		if d := r.take(charge(key, 5, l, more)); !d.Allowed {
			r.Errorf("%v: cancelled after its request was used for another: %+v", l.Algorithm, d)
		}
	}
}
