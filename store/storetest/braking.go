package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// braker returns the store as one that can be braked, or nil.
func (r *run) braker() store.Braker {
	b, ok := r.store.(store.Braker)
	if !ok || errors.Is(b.Brake(context.Background(), charge("can it", 0, store.Per(1, time.Second)).Charges, store.Brake{Lift: true}), store.ErrUnsupported) {
		r.Log("the store is no store.Braker: not tried")
		return nil
	}
	return b
}

func (r *run) brake(key string, b store.Brake, limits ...store.Limit) {
	r.Helper()
	if err := r.store.(store.Braker).Brake(context.Background(), charge(key, 0, limits...).Charges, b); err != nil {
		r.Fatalf("Brake: %v", err)
	}
}

// pauses: a paused key admits nothing before the pause is over, whatever its
// limits have left; the pause that ends last counts, and lifting ends all.
func pauses(r *run) {
	if r.braker() == nil {
		return
	}
	for _, l := range each(3, time.Second) {
		key := "pause " + l.Algorithm.String()
		r.take(charge(key, 1, l))
		for _, pause := range []time.Duration{4 * time.Second, 5 * time.Second, time.Second, time.Microsecond} {
			r.brake(key, store.Brake{Pause: pause}, l)
		}
		r.sleep(time.Second)
		for range 3 {
			d := r.take(charge(key, 1, l))
			if d.Allowed || d.Reason != store.ReasonPaused || d.RetryAfter < 4*time.Second || d.Remaining != 0 || d.ResetAfter < 4*time.Second || d.BrakedAt == 0 {
				r.Errorf("%v, paused for 4 s: %+v", l.Algorithm, d)
			}
			if l.Algorithm != store.AlignedWindow && l.Algorithm != store.SlidingCounter && d.RetryAfter != 4*time.Second {
				r.Errorf("%v, paused for 4 s: retry after %v", l.Algorithm, d.RetryAfter)
			}
		}
		if d := r.take(charge(key, 0, l)); !d.Allowed || d.Remaining != 0 {
			r.Errorf("%v, a look at a paused key: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(key, 4, l)); d.Reason != store.ReasonNeverFits {
			r.Errorf("%v, a cost that never fits a paused key: %+v", l.Algorithm, d)
		}
		if d := r.take(charge(key+" too", 1, l)); !d.Allowed {
			r.Errorf("%v, another key: %+v", l.Algorithm, d)
		}
		r.sleep(4*time.Second - time.Microsecond)
		if d := r.take(charge(key, 1, l)); d.Allowed {
			r.Errorf("%v, a microsecond before the end: %+v", l.Algorithm, d)
		}
		r.sleep(time.Microsecond)
		if d := r.take(charge(key, 1, l)); !d.Allowed || d.Gap != 0 {
			r.Errorf("%v, after the pause: %+v", l.Algorithm, d)
		}
		r.brake(key, store.Brake{Pause: time.Hour}, l)
		r.brake(key, store.Brake{Lift: true}, l)
		if d := r.take(charge(key, 1, l)); !d.Allowed {
			r.Errorf("%v, lifted: %+v", l.Algorithm, d)
		}
	}
}

// pausedSlots: slots booked in a pause come after it, at the limit's pace, and
// slots booked before it are free again.
func pausedSlots(r *run) {
	if r.braker() == nil {
		return
	}
	slack := store.Per(1, time.Second)
	r.brake("slack", store.Brake{Pause: 4 * time.Second, Slack: time.Second}, slack)
	for _, pause := range []time.Duration{5 * time.Second, 5*time.Second + time.Microsecond} {
		r.brake("slack", store.Brake{Pause: pause, Slack: time.Second}, slack)
		want := 5 * time.Second
		if pause > want {
			want = pause + time.Second
		}
		if d := r.take(charge("slack", 1, slack)); d.Reason != store.ReasonPaused || d.RetryAfter != want {
			r.Errorf("a pause of %v after one with slack: %+v, want %v", pause, d, want)
		}
	}
	for _, l := range each(2, time.Second) {
		key := "slots " + l.Algorithm.String()
		for range 6 {
			r.reserve(key, 1, time.Hour, l)
		}
		r.brake(key, store.Brake{Pause: 10 * time.Second}, l)
		var acts []act
		for range 8 {
			d := r.reserve(key, 1, time.Hour, l)
			if !d.Allowed || d.Delay < 10*time.Second {
				r.Errorf("%v, a slot in a pause of 10 s: %+v", l.Algorithm, d)
			}
			acts = append(acts, act{d.Delay.Microseconds(), 1})
		}
		if !conforms(l, acts) {
			r.Errorf("%v: slots that exceed the limit: %v", l.Algorithm, acts)
		}
		// 2 a second, and counters are allowed to be late.
		if last := acts[len(acts)-1].at; last > 16_000_000 {
			r.Errorf("%v: the 8th slot after a pause of 10 s is %d µs away: %v", l.Algorithm, last, acts)
		}
	}
}

// usedUnits: what was used before a pause stays used, though somebody had booked for
// later by then and is not to come.
func usedUnits(r *run) {
	if r.braker() == nil {
		return
	}
	for _, l := range each(3, 24*time.Hour) {
		key := "used " + l.Algorithm.String()
		r.take(charge(key, 3, l))
		r.reserve(key, 1, 72*time.Hour, l)
		for _, b := range []store.Brake{{Pause: time.Millisecond}, {Lift: true}} {
			r.brake(key, b, l)
			r.sleep(200 * time.Millisecond)
			if d := r.take(charge(key, 1, l)); d.Allowed {
				r.Errorf("%v, all used, %+v: %+v", l.Algorithm, b, d)
			}
		}
		r.sleep(time.Millisecond)
		if d := r.reserve(key, 1, 96*time.Hour, l); !d.Allowed || d.Delay > 72*time.Hour {
			r.Errorf("%v, after the brake: %+v", l.Algorithm, d)
		}
	}
}

// paces: units are no closer together than was told, and a cut halves the rate,
// which then rises again.
func paces(r *run) {
	if r.braker() == nil {
		return
	}
	l := store.Per(100, time.Second)
	space := func(key string) (gap time.Duration) {
		r.Helper()
		a := r.reserve(key, 1, time.Hour, l)
		b := r.reserve(key, 1, time.Hour, l)
		if !a.Allowed || !b.Allowed {
			r.Fatalf("%s: %+v, %+v", key, a, b)
		}
		return b.Delay - a.Delay
	}
	r.brake("told", store.Brake{Tell: true, Gap: 300 * time.Millisecond, GapFor: 10 * time.Second}, l)
	if gap := space("told"); gap != 300*time.Millisecond {
		r.Errorf("told 300 ms: %v", gap)
	}
	r.brake("told", store.Brake{Tell: true, Gap: 100 * time.Millisecond, GapFor: 10 * time.Second}, l)
	if d := r.take(charge("told", 1, l)); d.Allowed || d.Gap != 100*time.Millisecond || d.Remaining != 0 {
		r.Errorf("told 100 ms, with slots ahead: %+v", d)
	}
	r.sleep(10 * time.Second)
	if gap := space("told"); gap != 0 {
		r.Errorf("what was told is over: %v", gap)
	}

	cut := store.Brake{Cut: store.Cut{Unit: 10 * time.Millisecond, Recovery: 10 * time.Second}}
	cut.Cut.Since = r.take(charge("cut", 1, l)).At
	about := func(want time.Duration) {
		r.Helper()
		gap := space("cut")
		if gap < want-want/20 || gap > want+want/20 {
			r.Errorf("a gap of %v, want about %v", gap, want)
		}
		r.sleep(2 * gap)
	}
	r.brake("cut", cut, l)
	about(20 * time.Millisecond)
	r.brake("cut", cut, l) // For a call that left before the first cut.
	about(20 * time.Millisecond)
	cut.Cut.Since = r.take(charge("cut", 0, l)).At + 1
	r.brake("cut", cut, l)
	about(40 * time.Millisecond)
	r.sleep(2500 * time.Millisecond) // From a quarter to a half of the rate.
	about(20 * time.Millisecond)
	r.sleep(5 * time.Second)
	if gap := space("cut"); gap != 0 {
		r.Errorf("recovered: %v", gap)
	}
}

// brakeMistakes: what can't be meant is refused by name.
func brakeMistakes(r *run) {
	b := r.braker()
	if b == nil {
		return
	}
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
