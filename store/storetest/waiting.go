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

// inOrder: slots are granted in order, and one beyond MaxWait takes nothing.
func inOrder(r *run) {
	for _, l := range each(2, time.Second) {
		key := "queue " + l.Algorithm.String()
		var last time.Duration
		for i := range 12 {
			cost := int64(1 + i%2)
			d := r.reserve(key, cost, time.Hour, l)
			if !d.Allowed || d.Delay < last {
				r.Fatalf("%v: slot %d: %+v, the one before has %v", l.Algorithm, i, d, last)
			}
			last = d.Delay
			r.sleep(10 * time.Millisecond)
			last -= 10 * time.Millisecond
		}
		before := r.take(charge(key, 0, l))
		d := r.reserve(key, 2, last/2, l)
		if d.Allowed || d.Reason != store.ReasonLimited || d.RetryAfter <= last/2 {
			r.Errorf("%v: a slot past MaxWait: %+v", l.Algorithm, d)
		}
		if after := r.take(charge(key, 0, l)); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			r.Errorf("%v: a slot past MaxWait was taken: %+v, then %+v", l.Algorithm, before, after)
		}
		if e := r.reserve(key, 2, d.RetryAfter, l); !e.Allowed || e.Delay != d.RetryAfter {
			r.Errorf("%v: a slot exactly MaxWait away: %+v", l.Algorithm, e)
		}
	}
}

// slots: whoever books at the same instant gets a slot of its own, those that
// would be given to callers one after another.
func slots(r *run) {
	for _, l := range each(3, time.Minute) {
		const n = 60
		var want, got []time.Duration
		var acts []act
		for range n {
			d := r.reserve("one "+l.Algorithm.String(), 1, time.Hour, l)
			want = append(want, d.Delay)
			acts = append(acts, act{int64(d.At) + d.Delay.Microseconds(), 1})
		}
		if !conforms(l, acts) {
			r.Errorf("%v: slots that exceed the limit: %v", l.Algorithm, want)
		}
		for _, d := range r.together(n, func(int) store.Request {
			req := charge("all "+l.Algorithm.String(), 1, l)
			req.MaxWait, req.Cancelable = time.Hour, true
			return req
		}) {
			if !d.Allowed {
				r.Errorf("%v: a slot within an hour: %+v", l.Algorithm, d)
			}
			got = append(got, d.Delay)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			r.Errorf("%v: slots booked at the same time are %v, one after another %v", l.Algorithm, got, want)
		}
	}
}

// cancel: the last slot given back leaves the key as it was.
func cancel(r *run) {
	canceler := r.store.(store.Canceler)
	sets := [][]store.Limit{{store.Per(2, time.Second), store.Per(5, time.Minute).By(store.SlidingWindow)}}
	for _, l := range each(3, time.Second) {
		sets = append(sets, []store.Limit{l})
	}
	for i, limits := range sets {
		for used := range 7 {
			key := fmt.Sprint("cancel ", i, " ", used)
			for range used {
				r.reserve(key, 1, time.Hour, limits...)
			}
			before := r.take(charge(key, 0, limits...))
			for _, cost := range []int64{1, 2} {
				granted := r.reserve(key, cost, time.Hour, limits...)
				r.sleep(time.Millisecond)
				r.cancel(granted)
				r.sleep(time.Millisecond)
				again := r.reserve(key, cost, time.Hour, limits...)
				if want := max(granted.Delay-2*time.Millisecond, 0); again.Delay != want {
					r.Errorf("%v, %d used: the slot given back was %v away, the next is %v", limits, used, want, again.Delay)
				}
				r.cancel(again)
			}
			after := r.take(charge(key, 0, limits...))
			if used < 3 && after.Remaining < before.Remaining {
				r.Errorf("%v, %d used: %d remained before a slot was taken and given back, %d after", limits, used, before.Remaining, after.Remaining)
			}
		}
	}
	if err := canceler.Cancel(context.Background(), "not a receipt"); err == nil {
		r.Error("a receipt that is none was taken")
	}
}

// credit: whatever is reserved and cancelled, what is acted on stays within the
// limits.
func credit(r *run) {
	canceler, ok := r.store.(store.Canceler)
	if !ok {
		return
	}
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
		var now int64
		var slots []slot
		for range 120 {
			switch rng.IntN(5) {
			case 0, 1:
				step := rng.Int64N(l.Period.Microseconds()/2 + 1)
				r.sleep(time.Duration(step) * time.Microsecond)
				now += step
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
				// Mostly slots that are still to come.
				if slots[i].at < now && rng.IntN(4) > 0 {
					continue
				}
				if err := canceler.Cancel(context.Background(), slots[i].d.Receipt); err != nil {
					r.Fatal(err)
				}
				slots = slices.Delete(slots, i, i+1)
			}
		}
		var acts []act
		for _, s := range slots {
			acts = append(acts, s.act)
		}
		if !slices.IsSortedFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) }) {
			r.Errorf("%v: slots are not in the order in which they were granted", limits)
		}
		for _, l := range limits {
			if !conforms(l, acts) {
				r.Errorf("round %d: %v %v burst %d is exceeded by what was not cancelled: %v", round, l.Algorithm, l, l.Burst, acts)
			}
		}
	}
}
