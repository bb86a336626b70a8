package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// cancelAmong: when the last of those who wait leave, nobody waits for their slots,
// whatever was settled or given back meanwhile.
func cancelAmong(r *run) {
	day := each(10, 24*time.Hour)
	sets := [][]store.Limit{{store.Per(5, time.Hour), store.Per(10, 24*time.Hour).By(store.SlidingWindow)}, {store.Per(10, time.Hour).By(store.FixedWindow), store.Per(12, 24*time.Hour)}}
	for _, l := range day {
		sets = append(sets, []store.Limit{l})
	}
	for i, limits := range sets {
		for _, waiters := range []int{1, 2, 3, 20} {
			if waiters > 2 && slices.ContainsFunc(limits, func(l store.Limit) bool { return l.Algorithm == store.GCRA }) {
				continue // What cancels give back of a bucket is credit.
			}
			key := fmt.Sprint("cancel among ", i, waiters)
			most := limits[0].Max()
			// Those who have been: two that are settled later, at different times.
			first, second := r.reserve(key, most-2, 0, limits...), r.reserve(key, 2, 0, limits...)
			var slots []store.Decision
			for range waiters {
				d := r.reserve(key, 1, 90*24*time.Hour, limits...)
				if !d.Allowed || d.Delay <= 0 {
					r.Fatalf("%s, %v: %+v", key, limits, d)
				}
				slots = append(slots, d)
			}
			r.sleep(time.Second)
			r.settle(first, 1)
			for n := len(slots) - 1; n >= 0; n-- {
				if n == 0 {
					r.settle(second, 1)
				}
				r.cancel(slots[n])
			}
			if d := r.take(charge(key, 1, limits...)); !d.Allowed {
				r.Errorf("%s, %v: with nobody there any more: %+v", key, limits, d)
			}
			free := r.take(charge(key, 0, limits...)).Remaining
			if d := r.take(charge(key, free, limits...)); !d.Allowed || free != most-3 {
				r.Errorf("%s, %v: %d of %d left, 3 are used: %+v", key, limits, free, most, d)
			}
		}
	}
}

// cancelForgotten: who leaves a line that a Reset or other limits have ended takes
// nobody out of the line that was formed since.
func cancelForgotten(r *run) {
	limit, other := store.Per(1, time.Minute).By(store.AlignedWindow), store.Per(2, time.Minute).By(store.AlignedWindow)
	for what, forget := range map[string]func(key string){
		"reset": func(key string) {
			if s, ok := r.store.(store.Resetter); ok {
				if err := s.Reset(context.Background(), "", key); err != nil {
					r.Error(err)
				}
			}
		},
		"other limits": func(key string) { r.take(charge(key, 1, other)) },
	} {
		key := "cancel forgotten " + what
		r.reserve(key, 1, 0, limit)
		gone := r.reserve(key, 1, time.Hour, limit)
		r.sleep(time.Millisecond)
		forget(key)
		r.sleep(time.Millisecond)
		r.reserve(key, 1, 0, limit)
		before := r.reserve(key, 1, time.Hour, limit)
		r.sleep(time.Millisecond)
		r.cancel(gone)
		if d := r.reserve(key, 1, time.Hour, limit); d.Delay <= before.Delay {
			r.Errorf("%s: a slot in %v, where somebody has that in %v", key, d.Delay, before.Delay)
		}
	}
}

// leaveThenChange: nobody waits for those who left when the limits come in another
// order or one more is there.
func leaveThenChange(r *run) {
	a, b, more := store.Per(2, time.Minute).By(store.AlignedWindow), store.Per(100, time.Minute).By(store.FixedWindow), store.Per(100, 24*time.Hour)
	for name, limits := range map[string][]store.Limit{"another order": {b, a}, "one more": {a, b, more}} {
		key := "leave then change " + name
		first, second := r.reserve(key, 1, 0, a, b), r.reserve(key, 1, 0, a, b)
		waits := r.reserve(key, 1, time.Hour, a, b)
		r.sleep(time.Millisecond)
		r.cancel(first, waits, second)
		r.sleep(time.Millisecond)
		if d := r.take(charge(key, 2, limits...)); !d.Allowed {
			r.Errorf("%s: with nobody there any more: %+v", key, d)
		}
	}
}

// cancelAdded: who booked before a limit was added keeps the slot when those who came
// after that leave.
func cancelAdded(r *run) {
	for _, l := range each(2, time.Second) {
		if l.Algorithm != store.FixedWindow && l.Algorithm != store.AlignedWindow {
			continue // The last slot before is not that of the others.
		}
		key := "cancel added " + l.Algorithm.String()
		r.reserve(key, 2, 0, l)
		r.reserve(key, 2, time.Hour, l)
		more := []store.Limit{l, store.Per(1000, time.Second)}
		slots := []store.Decision{r.reserve(key, 1, time.Hour, more...), r.reserve(key, 1, time.Hour, more...)}
		r.cancel(slots...)
		if d := r.reserve(key, 1, time.Hour, more...); d.Delay != slots[0].Delay {
			r.Errorf("%s: a slot in %v, want that of those who left, in %v", key, d.Delay, slots[0].Delay)
		}
	}
}

// notKept: a store is done with the request when it returns. The caller may use its
// memory for the next one.
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
