package storetest

import (
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// pairs calls f with every pair of algorithms.
func pairs(f func(name string, a, b store.Algorithm)) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for b := store.GCRA; b <= store.AlignedWindow; b++ {
			f(fmt.Sprint(a, " ", b), a, b)
		}
	}
}

// changed: other limits apply at once to existing keys. The used share carries over.
func changed(r *run) {
	const day = 24 * time.Hour
	pairs(func(name string, a, b store.Algorithm) {
		key, soon, fast := "raise "+name, time.Second, store.Per(100, time.Second).By(b)
		r.take(charge(key, 1, store.Per(1, day).By(a)))
		if b == store.GCRA {
			soon = 10 * time.Millisecond
		}
		d := r.take(charge(key, 1, fast))
		if !d.Allowed && d.RetryAfter <= soon {
			r.sleep(d.RetryAfter)
			d = r.take(charge(key, 1, fast))
		}
		if !d.Allowed {
			r.Errorf("%s: exhausted under 1 per day, then 100 per second: %+v", name, d)
		}
		key = "lower " + name
		r.take(charge(key, 100, store.Per(100, time.Minute).By(a)))
		if d := r.take(charge(key, 1, store.Per(10, time.Minute).By(b))); d.Allowed || d.RetryAfter > 2*time.Minute {
			r.Errorf("%s: exhausted 100 per minute, then 10 per minute: %+v", name, d)
		}
		key = "half " + name
		half := store.Per(10, time.Hour).By(a)
		r.take(charge(key, 5, half))
		shared := a == store.SlidingWindow && b == a // They share a log, which counts units.
		if d := r.look(key, store.Per(100, time.Hour).By(b)); d.Remaining != 50 && !shared || shared && d.Remaining != 95 {
			r.Errorf("%s: half of 10 is used, then of 100 %d remain", name, d.Remaining)
		}
		if d := r.look(key, half); d.Remaining != 5 {
			r.Errorf("%s: a look under another limit changed the state: %+v", name, d)
		}
		// A limit added to others begins unused, and hides none of them.
		key = "more " + name
		one, two := store.Per(5, day).By(a), store.Per(20, 2*day).By(b)
		r.take(charge(key, 5, one))
		if d := r.take(charge(key, 1, two, one)); d.Allowed || d.Limit != one || d.Charge(0).Remaining != 20 && !shared {
			r.Errorf("%s: a limit added in front of an exhausted one: %+v", name, d)
		}
	})
}

// promised: slots booked under other limits stay booked, and no call overtakes them.
func promised(r *run) {
	pairs(func(name string, a, b store.Algorithm) {
		key := "promised " + name
		one, two := store.Per(2, time.Second).By(a), store.Per(300, time.Second).By(b)
		var last, first time.Duration
		for i := range 10 {
			limit := one
			if i%5 == 4 {
				limit = two
			}
			d := r.reserve(key, 1, time.Hour, limit)
			if !d.Allowed || d.Delay < last {
				r.Errorf("%s: booking %d under %v comes after %v, the one before after %v", name, i, limit, d.Delay, last)
			}
			if last = d.Delay; i == 2 {
				first = d.Delay
			}
			if d := r.take(charge(key, 1, two)); i > 3 && (d.Allowed || d.RetryAfter < last) {
				r.Errorf("%s: a slot is booked in %v, and another limit says %+v", name, last, d)
			}
		}
		if first == 0 {
			r.Errorf("%s: the third of 2 per second has to wait", name)
		}
	})
}

// changedUsed: used units stay used when a limit changes, also with slots booked ahead.
func changedUsed(r *run) {
	pairs(func(name string, a, b store.Algorithm) {
		l := store.Per(10, time.Hour).By(a)
		for _, ahead := range []int{1, 10, 21} {
			key := fmt.Sprint("used ", name, ahead)
			r.take(charge(key, 10, l))
			for range ahead {
				r.reserve(key, 1, 24*time.Hour, l)
			}
			if d := r.take(charge(key, 3, store.Per(12, time.Hour).By(b))); d.Allowed {
				r.Errorf("%s: 10 of 10 are used, and %d booked, then 12: %+v", name, ahead, d)
			}
		}
	})
}

// changedOrder: slots booked ahead stay booked when limits change places, or one is added.
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

// leftOut: a limit left out of a call still counts the call, until the limit lapses. Then it
// is fresh. Old limits do not make the key slower.
func leftOut(r *run) {
	pairs(func(name string, a, b store.Algorithm) {
		one, two := store.Per(5, time.Hour).By(a), store.Per(70, time.Hour).By(b)
		key := "left out " + name
		r.take(charge(key, 2, one))
		if d := r.take(charge(key, 1, two)); !d.Allowed {
			r.Errorf("%s: 2 of 5 are used, then 1 of 70: %+v", name, d)
		}
		if d := r.look(key, one); d.Remaining != 2 && one != two {
			r.Errorf("%s: 2 of 5 are used, and 1 without the limit: %+v", name, d)
		}
		// A limit left out lapses though the key is in use.
		for range 50 {
			r.sleep(4 * time.Minute)
			r.take(charge(key, 1, two))
		}
		r.sleep(3 * time.Hour)
		if d := r.look(key, one, two); d.Charge(0).Remaining != 5 || d.Charge(1).Remaining != 70 {
			r.Errorf("%s: all has lapsed: %+v", name, d)
		}
	})
	// A slow limit is left out, and many others follow, one after another.
	r.take(charge("many", 1, store.Per(1, 300*24*time.Hour)))
	for i := range int64(200) {
		l := store.Per(1_000_000+i, time.Second)
		r.take(charge("many", 1, l))
		r.sleep(time.Millisecond)
		if d := r.take(charge("many", 1000, l)); !d.Allowed {
			r.Fatalf("limit %d after one of a unit in 300 days: %+v", i, d)
		}
		r.sleep(time.Second)
	}
}

// reset: a reset key has full limits. Other keys stay as they are.
func reset(r *run) {
	for _, l := range each(2, time.Hour) {
		a, b := "a"+l.Algorithm.String(), "b"+l.Algorithm.String()
		for _, key := range []string{a, b} {
			r.take(charge(key, 2, l))
		}
		r.reset(a)
		r.reset("unknown" + a)
		if d := r.take(charge(a, 2, l)); !d.Allowed {
			r.Errorf("%v: after a reset: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(b, 1, l)); d.Allowed {
			r.Errorf("%v: another key was reset", l.Algorithm)
		}
	}
}
