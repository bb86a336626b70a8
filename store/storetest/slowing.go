package storetest

import (
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// slow returns a cut that lasts so long that the rate does not grow meanwhile.
func slow(since store.Instant) store.Brake {
	return store.Brake{Cut: store.Cut{Unit: time.Millisecond, Recovery: 64 * 24 * time.Hour, Since: since}}
}

// gap returns the time between the next two slots.
func (r *run) gap(key string, l store.Limit) time.Duration {
	r.Helper()
	a, b := r.reserve(key, 1, time.Hour, l), r.reserve(key, 1, time.Hour, l)
	if !a.Allowed || !b.Allowed {
		r.Fatalf("%s: %+v, %+v", key, a, b)
	}
	return b.Delay - a.Delay
}

// cuts: each cut halves the rate, down to 1/64. A cut for a call that left before the last
// cut is ignored. A low rate admits no bursts.
func cuts(r *run) {
	for _, l := range each(100, time.Second) {
		key := "cut " + l.Algorithm.String()
		left := r.take(charge(key, 1, l)).At
		r.sleep(time.Millisecond)
		for _, share := range []int64{32, 16, 8, 4, 2, 1, 1} { // The lowest rate stays.
			r.brake(key, slow(r.look(key, l).At), l)
			r.brake(key, slow(left), l) // for a call that left before
			if gap := r.gap(key, l); gap != time.Duration(64/share)*10*time.Millisecond {
				r.Errorf("%v, slow at %d/64: a gap of %v", l.Algorithm, share, gap)
			}
			d := r.take(charge(key, 1, l))
			if d.Allowed || d.Reason != store.ReasonLimited || d.Remaining != 0 || d.ResetAfter < d.RetryAfter {
				r.Errorf("%v, slow at %d/64, with slots ahead: %+v", l.Algorithm, share, d)
			}
			r.sleep(d.RetryAfter)
			if d := r.take(charge(key, 1, l)); !d.Allowed || d.Remaining != 0 {
				r.Errorf("%v, slow at %d/64, after RetryAfter: %+v", l.Algorithm, share, d)
			}
			r.sleep(time.Minute)
			if d := r.look(key, l); d.Remaining != 1 {
				r.Errorf("%v, slow at %d/64, a minute later: %+v", l.Algorithm, share, d)
			}
		}
	}
}

// grows: the rate grows back evenly, by 1/64 each Recovery/64.
func grows(r *run) {
	for _, l := range each(100, time.Second) {
		key := "grows " + l.Algorithm.String()
		b := slow(0)
		b.Cut.Recovery = 640 * time.Second
		for range 7 {
			b.Cut.Since = r.look(key, l).At
			r.brake(key, b, l)
			r.sleep(time.Microsecond)
		}
		var passed time.Duration
		for _, share := range []int64{1, 2, 4, 16, 32, 63} {
			r.sleep(time.Duration(share-1)*10*time.Second - passed)
			passed = time.Duration(share-1) * 10 * time.Second
			want := 640 * time.Millisecond / time.Duration(share)
			if gap := r.gap(key, l); gap < want-time.Microsecond || gap > want+2*time.Microsecond {
				r.Errorf("%v, grown to %d/64: a gap of %v, want %v", l.Algorithm, share, gap, want)
			}
		}
		r.sleep(11 * time.Second)
		if d := r.take(charge(key, 50, l)); !d.Allowed || d.Delay != 0 {
			r.Errorf("%v, recovered: a burst of 50: %+v", l.Algorithm, d)
		}
	}
}

// stretched: slots ahead of a cut stay booked, and lie twice as far apart.
func stretched(r *run) {
	for _, l := range []store.Limit{store.Per(10, time.Second).WithBurst(1), store.Per(1, time.Second).By(store.SlidingWindow)} {
		q := r.queue("stretched "+l.Algorithm.String(), l)
		for range 6 {
			q.book(1, time.Hour)
		}
		var before []store.Instant
		for _, c := range q.ahead() {
			before = append(before, c.leaves-q.now())
		}
		for by := store.Instant(2); by <= 8; by *= 2 {
			q.slow = int64(by)
			q.brake(slow(q.now()))
			for i, c := range q.ahead() {
				if at := c.leaves - q.now(); at < before[i]*by-4*by || at > before[i]*by {
					q.fail("slow by %d, slot %d comes in %d, it came in %d", by, i, at, before[i])
				}
			}
			r.sleep(time.Microsecond)
		}
	}
}

// told: for GapFor, units come as far apart as an upstream advertised.
func told(r *run) {
	tell := func(gap time.Duration) store.Brake {
		return store.Brake{Tell: true, Gap: gap, GapFor: 10 * time.Second}
	}
	for _, l := range each(100, time.Second) {
		key := "told " + l.Algorithm.String()
		for _, want := range []time.Duration{300 * time.Millisecond, 100 * time.Millisecond} {
			r.brake(key, tell(want), l)
			if gap := r.gap(key, l); gap != want {
				r.Errorf("%v, told %v: %v", l.Algorithm, want, gap)
			}
			if d := r.take(charge(key, 1, l)); d.Allowed || d.Gap != want || d.Remaining != 0 {
				r.Errorf("%v, told %v, with slots ahead: %+v", l.Algorithm, want, d)
			}
			r.sleep(2 * time.Second)
		}
		r.sleep(8*time.Second - time.Microsecond)
		if d := r.look(key, l); d.Gap != 100*time.Millisecond || d.Remaining != 1 {
			r.Errorf("%v, a microsecond before the end: %+v", l.Algorithm, d)
		}
		r.sleep(time.Microsecond)
		if d := r.take(charge(key, 50, l)); !d.Allowed || d.Gap != 0 {
			r.Errorf("%v, the advertised pace is over: %+v", l.Algorithm, d)
		}
		r.brake(key, tell(time.Second), l)
		r.brake(key, tell(0), l)
		if d := r.take(charge(key, 20, l)); !d.Allowed || d.Gap != 0 {
			r.Errorf("%v, told no pace: %+v", l.Algorithm, d)
		}
		// A pace faster than the limit's does not slow the key down.
		r.brake(key, tell(time.Millisecond), l)
		if d := r.take(charge(key, 5, l)); !d.Allowed || d.Gap != time.Millisecond {
			r.Errorf("%v, told a faster pace: %+v", l.Algorithm, d)
		}
	}
}

// windowsEnd: a window with a beginning ends on time though the key's time is slow. A sliding
// window then takes longer.
func windowsEnd(r *run) {
	const period = 10 * time.Second
	for _, l := range each(3, period)[store.SlidingWindow:] {
		for _, brake := range []string{"slow", "paused"} {
			key := fmt.Sprint("ends ", l.Algorithm, brake)
			r.sleep(period - time.Duration(r.look(key, l).At%store.Instant(period.Microseconds()))*time.Microsecond)
			d := r.take(charge(key, 3, l))
			b := store.Brake{Pause: period}
			if brake == "slow" {
				b = slow(d.At)
			}
			r.sleep(time.Microsecond)
			r.brake(key, b, l)
			r.sleep(period - 2*time.Microsecond)
			if d := r.take(charge(key, 1, l)); d.Allowed {
				r.Errorf("%v, %s, before the window ends: %+v", l.Algorithm, brake, d)
			}
			r.sleep(2 * time.Microsecond)
			if d = r.take(charge(key, 1, l)); l.Algorithm == store.SlidingCounter && !d.Allowed && d.RetryAfter < period {
				r.sleep(d.RetryAfter) // A counter weighs the window before.
				d = r.take(charge(key, 1, l))
			}
			if late := brake == "slow" && l.Algorithm == store.SlidingWindow; d.Allowed == late {
				r.Errorf("%v, %s, after the window: %+v", l.Algorithm, brake, d)
			}
		}
	}
}
