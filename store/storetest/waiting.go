package storetest

import (
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// inOrder: slots are granted in order. A slot beyond MaxWait takes nothing.
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

// slots: calls that book at the same instant get the same slots as calls one after another.
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

// leaving: a charge with a reserve takes only its cost, and only if the reserve is free, too.
func leaving(r *run) {
	for _, l := range each(10, time.Minute) {
		key := "leave " + l.Algorithm.String()
		spare := func(cost, leave int64) store.Decision {
			r.Helper()
			req := charge(key, cost, l)
			req.Charges[0].Reserve = leave
			return r.take(req)
		}
		for i := range 7 {
			if d := spare(1, 3); !d.Allowed || d.Remaining != int64(9-i) {
				r.Errorf("%v: call %d that leaves 3 of 10: %+v", l.Algorithm, i, d)
			}
		}
		refused := spare(1, 3)
		if refused.Allowed || refused.Reason != store.ReasonLimited || refused.Remaining != 3 {
			r.Errorf("%v: 3 of 10 are left, and to be left: %+v", l.Algorithm, refused)
		}
		if d := spare(1, 2); !d.Allowed || d.Remaining != 2 {
			r.Errorf("%v: 3 of 10 are left, 2 to be left: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(key, 2, l)); !d.Allowed || d.Remaining != 0 {
			r.Errorf("%v: a call that takes the reserve: %+v", l.Algorithm, d)
		}
		d := spare(1, 3)
		r.sleep(d.RetryAfter)
		if d := spare(1, 3); !d.Allowed {
			r.Errorf("%v: after RetryAfter: %+v", l.Algorithm, d)
		}
		// A reserve is capped so that cost and reserve fit.
		for _, leave := range []int64{10, store.MaxUnits} {
			key = "leave more " + l.Algorithm.String()
			if d := spare(1, leave); !d.Allowed {
				r.Errorf("%v: the first call, which leaves %d of 10: %+v", l.Algorithm, leave, d)
			}
			if d := spare(1, leave); d.Allowed {
				r.Errorf("%v: the second call, which leaves %d of 10: %+v", l.Algorithm, leave, d)
			}
			r.sleep(2 * time.Minute)
		}
		if d := spare(11, 3); d.Reason != store.ReasonNeverFits {
			r.Errorf("%v: a cost that never fits: %+v", l.Algorithm, d)
		}
	}
}
