package storetest

import (
	"time"

	"github.com/goweir/weir/store"
)

// leaving: a charge that has to leave units takes its cost alone, and only where
// so many more would be admitted.
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
			r.Errorf("%v: what was left for others: %+v", l.Algorithm, d)
		}
		d := spare(1, 3)
		r.sleep(d.RetryAfter)
		if d := spare(1, 3); !d.Allowed {
			r.Errorf("%v: after RetryAfter: %+v", l.Algorithm, d)
		}
		// What does not fit beside the cost is not asked for.
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
