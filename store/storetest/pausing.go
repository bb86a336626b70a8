package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// pauses: a paused key admits nothing until the pause is over. RetryAfter is exact. The
// pause that ends last wins. Resuming ends all pauses.
func pauses(r *run) {
	for _, l := range each(3, time.Second) {
		key := "pause " + l.Algorithm.String()
		r.take(charge(key, 1, l))
		for _, pause := range []time.Duration{4 * time.Second, 5 * time.Second, time.Second, time.Microsecond} {
			r.brake(key, store.Brake{Pause: pause}, l)
		}
		r.sleep(time.Second)
		for range 3 {
			if d := r.take(charge(key, 1, l)); d.Allowed || d.Reason != store.ReasonPaused || d.RetryAfter != 4*time.Second || d.Remaining != 0 || d.ResetAfter < 4*time.Second {
				r.Errorf("%v, paused for 4 s: %+v", l.Algorithm, d)
			}
		}
		if d := r.look(key, l); d.Remaining != 0 || d.ResetAfter < 4*time.Second || d.Clock == nil {
			r.Errorf("%v, a look at a paused key: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(key, 4, l)); d.Reason != store.ReasonNeverFits {
			r.Errorf("%v, a cost that never fits a paused key: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(key+" too", 1, l)); !d.Allowed {
			r.Errorf("%v, another key: %+v", l.Algorithm, d)
		}
		r.sleep(4*time.Second - time.Microsecond)
		if d := r.take(charge(key, 1, l)); d.Allowed || d.RetryAfter != time.Microsecond {
			r.Errorf("%v, a microsecond before the end: %+v", l.Algorithm, d)
		}
		r.sleep(time.Microsecond)
		if d := r.take(charge(key, 3, l)); !d.Allowed || d.Gap != 0 {
			r.Errorf("%v, after the pause, in which the used unit came back: %+v", l.Algorithm, d)
		}
		r.sleep(2 * time.Second)
		r.brake(key, store.Brake{Pause: time.Hour}, l)
		r.brake(key, store.Brake{Lift: true}, l)
		if d := r.take(charge(key, 3, l)); !d.Allowed {
			r.Errorf("%v, resumed: %+v", l.Algorithm, d)
		}
	}
	slack := store.Per(1, time.Second)
	for _, b := range []struct{ pause, want time.Duration }{{4 * time.Second, 5 * time.Second}, {5 * time.Second, 5 * time.Second}, {5*time.Second + time.Microsecond, 6*time.Second + time.Microsecond}} {
		r.brake("slack", store.Brake{Pause: b.pause, Slack: time.Second}, slack)
		if d := r.take(charge("slack", 1, slack)); d.RetryAfter != b.want {
			r.Errorf("a pause of %v with slack: %+v, want %v", b.pause, d, b.want)
		}
	}
}

// bookedInPause: with nothing ahead the key's time runs on, so used units come back. From
// the first booking on it stands. That booking comes at the end of the pause. The others
// follow at the limit's pace.
func bookedInPause(r *run) {
	for _, l := range each(2, time.Second) {
		for _, wait := range []time.Duration{0, 250 * time.Millisecond, 5 * time.Second} {
			key := fmt.Sprint("booked ", l.Algorithm, wait)
			r.take(charge(key, 2, l))
			r.brake(key, store.Brake{Pause: 10 * time.Second}, l)
			r.sleep(wait)
			var acts []act
			for i := range 8 {
				d := r.reserve(key, 1, time.Hour, l)
				if left := 10*time.Second - wait; !d.Allowed || d.Delay < left || i == 0 && d.Delay != left {
					r.Errorf("%v: booking %d, %v before the end of a pause: %+v", l.Algorithm, i, left, d)
				}
				acts = append(acts, act{int64(d.At) + d.Delay.Microseconds(), 1})
			}
			if !conforms(l, acts) {
				r.Errorf("%v, booked after %v: the slots exceed the limit: %v", l.Algorithm, wait, acts)
			}
			// 2 per second. A counter weighs the window before.
			if last := acts[7].at - acts[0].at; last > 7_000_000 || l.Algorithm == store.GCRA && last != 3_500_000 && wait < time.Second {
				r.Errorf("%v, booked after %v: the last slot is %d µs after the first: %v", l.Algorithm, wait, last, acts)
			}
		}
	}
}

// used: a pause frees no used unit before its time. Nor does the end of a pause.
func used(r *run) {
	for _, l := range each(3, 24*time.Hour) {
		key := "used " + l.Algorithm.String()
		r.take(charge(key, 3, l))
		first := r.reserve(key, 1, 72*time.Hour, l)
		for _, b := range []store.Brake{{Pause: time.Millisecond}, {Lift: true}} {
			r.brake(key, b, l)
			r.sleep(200 * time.Millisecond)
			if d := r.take(charge(key, 1, l)); d.Allowed {
				r.Errorf("%v, all used, %+v: %+v", l.Algorithm, b, d)
			}
		}
		if d := r.reserve(key, 1, 96*time.Hour, l); !d.Allowed || d.Delay < first.Delay-time.Second {
			r.Errorf("%v, behind a slot in %v: %+v", l.Algorithm, first.Delay, d)
		}
	}
}

// moved: slots ahead of a pause stay booked and move. The first comes at the end of the
// pause. The others keep order and distance. Watchers get the new clock.
func moved(r *run) {
	for _, l := range each(2, time.Second) {
		q := r.queue("moved "+l.Algorithm.String(), l)
		for range 8 {
			q.book(1, time.Hour)
		}
		r.sleep(100 * time.Millisecond)
		q.brake(store.Brake{Pause: 10 * time.Second})
		r.sleep(time.Microsecond) // Clocks differ by their instants.
		q.brake(store.Brake{Pause: 20 * time.Second})
		r.sleep(5 * time.Second)
		q.book(1, time.Hour)
		if q.paused("paused", 15*time.Second); len(q.ahead()) == 0 {
			q.fail("no call waits in a pause")
		}
		q.brake(store.Brake{Pause: time.Second}) // The longer pause counts.
		q.paused("paused again", 15*time.Second)
		first := q.ahead()[0]
		q.brake(store.Brake{Lift: true})
		if q.paused("resumed", 0); !first.gone && q.begun(first) != 0 {
			q.fail("resumed, the first slot is %v away", q.begun(first))
		}
		q.judge(l)
	}
}

// paused fails the case unless the calls ahead come after a time and keep their distance. The
// first slot of a bucket or a sliding window comes exactly then.
func (q *waiters) paused(when string, left time.Duration) {
	q.run.Helper()
	ahead := q.ahead()
	exact := left > 0 && (q.limits[0].Algorithm == store.GCRA || q.limits[0].Algorithm == store.SlidingWindow)
	for i, c := range ahead {
		if at := q.begun(c); at < left || i == 0 && exact && at != left {
			q.fail("%s: call %d comes in %v, the pause ends in %v", when, c.n, at, left)
		}
		if i > 0 && c.leaves < ahead[i-1].leaves || exact && c.leaves-ahead[0].leaves != c.slot-ahead[0].slot {
			q.fail("%s: call %d leaves its distance to the first", when, c.n)
		}
	}
}

// brakeMistakes: the error of a wrong brake names its field.
func brakeMistakes(r *run) {
	b := r.store.(store.Braker)
	charges := charge("key", 0, store.Per(1, time.Second)).Charges
	two := append(charge("another", 0, store.Per(1, time.Second)).Charges, charges...)
	for name, test := range map[string]struct {
		charges []store.Charge
		brake   store.Brake
	}{
		"no charges":       {nil, store.Brake{Pause: 1}},
		"two keys":         {two, store.Brake{Pause: 1}},
		"a wrong limit":    {charge("key", 0, store.Limit{}).Charges, store.Brake{Pause: 1}},
		"a negative time":  {charges, store.Brake{Pause: -1}},
		"a negative slack": {charges, store.Brake{Pause: 1, Slack: -1}},
		"a negative gap":   {charges, store.Brake{Tell: true, Gap: -1}},
		"a long recovery":  {charges, store.Brake{Cut: store.Cut{Unit: 1, Recovery: store.MaxPeriod}}},
	} {
		if err := b.Brake(context.Background(), test.charges, test.brake); !errors.Is(err, store.ErrConfig) {
			r.Errorf("%s: %v", name, err)
		}
	}
}
