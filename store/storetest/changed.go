package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// changed: other limits apply at once to keys that exist, and what was used
// carries over.
func changed(r *run) {
	day := 24 * time.Hour
	for _, a := range []store.Algorithm{store.GCRA, store.SlidingWindow, store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		key := "raise " + a.String()
		r.take(charge(key, 1, store.Per(1, day).By(a)))
		// What a limit gives within its period must come back within it.
		fast := store.Per(100, time.Second).By(a)
		d := r.take(charge(key, 1, fast))
		if !d.Allowed {
			if d.RetryAfter > 10*time.Millisecond {
				r.Errorf("%v: exhausted under 1 per day, then 100 per second: %+v", a, d)
			}
			r.sleep(d.RetryAfter)
			if d = r.take(charge(key, 1, fast)); !d.Allowed {
				r.Errorf("%v: refused after RetryAfter under the new limit: %+v", a, d)
			}
		}
		key = "lower " + a.String()
		r.take(charge(key, 100, store.Per(100, time.Minute).By(a)))
		slow := store.Per(10, time.Minute).By(a)
		if d := r.take(charge(key, 1, slow)); d.Allowed || d.RetryAfter > 2*time.Minute {
			r.Errorf("%v: exhausted 100 per minute, then 10 per minute: %+v", a, d)
		}
		key = "more " + a.String()
		one, two := store.Per(5, time.Second).By(a), store.Per(20, time.Minute).By(a)
		r.take(charge(key, 5, one))
		if d := r.take(charge(key, 1, two, one)); d.Allowed || d.Limit != one {
			r.Errorf("%v: a limit added in front hides the one that was exhausted: %+v", a, d)
		}
		if d := r.take(charge(key, 1, two)); !d.Allowed {
			r.Errorf("%v: the exhausted limit was removed: %+v", a, d)
		}
	}
	half := store.Per(10, time.Hour)
	r.take(charge("half", 5, half))
	if d := r.take(charge("half", 0, store.Per(100, time.Hour))); d.Remaining < 49 || d.Remaining > 50 {
		r.Errorf("half used of 10, then 100: %d remaining, want 49 or 50", d.Remaining)
	}
	if d := r.take(charge("half", 0, half)); d.Remaining != 5 {
		r.Errorf("a peek under other limits changed the state: %+v", d)
	}
}

// changedAhead: whatever was booked under limits that are gone, nobody waits
// longer than those there are could make them, and what was booked counts.
func changedAhead(r *run) {
	r.sleep(time.Minute)
	for _, slow := range each(5, time.Hour) {
		for _, fast := range []store.Limit{store.Per(10, time.Second), store.Per(10, time.Hour), store.Per(10, time.Minute)} {
			fast = fast.By(slow.Algorithm)
			for name, limits := range map[string][]store.Limit{"changed": {slow}, "removed": {slow, fast}} {
				key := fmt.Sprint(name, " ", fast.Algorithm, " ", fast)
				for range 40 {
					r.reserve(key, 1, 24*time.Hour, limits...)
				}
				longest := fast.Period
				if fast.Algorithm == store.SlidingCounter {
					longest *= 2
				}
				// To look at it means nothing yet.
				r.take(charge(key, 0, fast))
				if d := r.take(charge(key, 1, limits...)); d.Allowed {
					r.Errorf("%v: 40 are booked under 5 per hour, one more after a look under %v: %+v", fast.Algorithm, fast, d)
				}
				if d := r.take(charge(key, 10, fast)); d.Allowed || d.RetryAfter > longest {
					r.Errorf("%v: 40 are booked under 5 per hour, now all of %v at once: %+v", fast.Algorithm, fast, d)
				}
				r.sleep(longest)
				if d := r.take(charge(key, 10, fast)); !d.Allowed {
					r.Errorf("%v: 40 were booked under 5 per hour, all of %v after %v: %+v", fast.Algorithm, fast, longest, d)
				}
			}
		}
	}
}

// changedUsed: what is used stays used when a limit changes, though somebody has
// booked for later.
func changedUsed(r *run) {
	r.sleep(time.Minute)
	for _, l := range each(10, time.Hour) {
		for _, ahead := range []int64{1, 10, 11, 21} {
			for _, wait := range []time.Duration{0, 70 * time.Minute} {
				key := fmt.Sprint("used ", l.Algorithm, ahead, wait)
				r.take(charge(key, 10, l))
				for range ahead {
					r.reserve(key, 1, 24*time.Hour, l)
				}
				if r.sleep(wait); wait > 0 && ahead < 21 {
					continue // It is not known to be used up then.
				}
				if d := r.take(charge(key, 3, store.Per(12, time.Hour).By(l.Algorithm))); d.Allowed {
					r.Errorf("%v: 10 of 10 are used, and %d booked, then 12, after %v: %+v", l.Algorithm, ahead, wait, d)
				}
			}
		}
	}
}

// changedOrder: slots that are booked ahead stay so when limits only change places,
// or one is added.
func changedOrder(r *run) {
	pace, day, hour := store.Per(1, 10*time.Second), store.Per(100, 24*time.Hour).By(store.AlignedWindow), store.Per(50, time.Hour).By(store.FixedWindow)
	for i, limits := range [][]store.Limit{{pace, day}, {day, pace}, {hour, day, pace}} {
		key := fmt.Sprint("order ", i)
		r.take(charge(key, 1, pace, day))
		r.reserve(key, 1, time.Hour, pace, day)
		req := charge(key, 0, limits...)
		for j := range limits {
			if limits[j] == day {
				req.Charges[j].Cost = 1
			}
		}
		if d := r.take(req); d.Allowed || d.RetryAfter != 10*time.Second {
			r.Errorf("%v, with a slot in 10 s: %+v", limits, d)
		}
	}
}

// leftOut: a limit that was left out of a call, or counted by another algorithm, starts
// fresh.
func leftOut(r *run) {
	for _, l := range each(5, time.Hour) {
		for _, other := range each(7, time.Hour) {
			if other.Algorithm == l.Algorithm {
				continue
			}
			key := fmt.Sprint("left out ", l.Algorithm, other.Algorithm)
			r.take(charge(key, 5, l))
			r.take(charge(key, 1, other))
			if d := r.take(charge(key, 0, l)); d.Remaining != 5 {
				r.Errorf("%v, left out of a call under %v: a look says %+v", l.Algorithm, other.Algorithm, d)
			}
			if d := r.take(charge(key, 6, other)); !d.Allowed {
				r.Errorf("%v, after a look under %v: %+v", other.Algorithm, l.Algorithm, d)
			}
			if d := r.take(charge(key, 5, l)); !d.Allowed {
				r.Errorf("%v, left out of a call under %v: %+v", l.Algorithm, other.Algorithm, d)
			}
		}
	}
}

// reset: a forgotten key finds full limits, others stay.
func reset(r *run) {
	resetter, ok := r.store.(store.Resetter)
	if !ok {
		r.Log("the store is no store.Resetter: not tried")
		return
	}
	for _, l := range each(2, time.Hour) {
		for _, key := range []string{"a", "b"} {
			r.take(charge(fmt.Sprint(key, l.Algorithm), 2, l))
		}
		for _, key := range []string{"a", "unknown"} {
			if err := resetter.Reset(context.Background(), "", fmt.Sprint(key, l.Algorithm)); err != nil {
				r.Fatal(err)
			}
		}
		if d := r.take(charge(fmt.Sprint("a", l.Algorithm), 2, l)); !d.Allowed {
			r.Errorf("%v: after a reset: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(fmt.Sprint("b", l.Algorithm), 1, l)); d.Allowed {
			r.Errorf("%v: another key was reset", l.Algorithm)
		}
	}
}
