package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// The tests need no real loss: they rename a caller's memory of one key to another key,
// which was never used, or used since. That key must then decide as the first.

// lossSets returns limits alone and together, with whole and fractional intervals.
func lossSets() [][]store.Limit {
	sets := [][]store.Limit{
		{store.Per(7, 3*time.Second), store.Per(11, 13*time.Second).WithBurst(20), store.Per(99, 7*time.Minute)},
		{store.Per(9, time.Second).By(store.SlidingWindow), store.Per(25, time.Minute).By(store.SlidingWindow)},
		{store.Per(7_000_003, time.Second).WithBurst(11), store.Per(1<<50, store.MaxPeriod)},
		each(10, 10*time.Second),
	}
	for _, l := range append(each(7, 3*time.Second), each(10, time.Second)...) {
		sets = append(sets, []store.Limit{l})
	}
	return sets
}

// slides reports whether one of the limits is a sliding window.
func slides(limits []store.Limit) bool {
	return slices.ContainsFunc(limits, func(l store.Limit) bool { return l.Algorithm == store.SlidingWindow })
}

// tell takes a request of one key. It also returns a caller's memory of the key.
func (r *run) tell(req store.Request) (store.Decision, store.Memory) {
	r.Helper()
	req.Seen = make([]store.Seen, len(req.Charges))
	d := r.take(req)
	m := store.Memory{Key: req.Charges[0].Key, At: req.Seen[0].At}
	for i, s := range req.Seen {
		if s.At != d.At && (s.At != 0 || d.Allowed) { // A refusal may come without the backend.
			r.Errorf("told of limit %d at %d, decided at %d: %+v", i, s.At, d.At, req)
		}
		m.Limits, m.Known, m.Last = append(m.Limits, req.Charges[i].Limit), append(m.Known, s.Used), max(m.Last, s.Last)
	}
	if want := d.At + store.Instant(d.Delay.Microseconds()); d.Allowed && d.Delay > 0 && m.Last != want || d.Delay == 0 && m.Last != 0 {
		r.Errorf("the reported slot is %d, want %d: %+v", m.Last, want, d)
	}
	return d, m
}

// of returns a memory under the name of another key.
func of(m store.Memory, key string) store.Memory {
	m.Key = key
	return m
}

// restore restores a memory, and checks the report of a loss.
func (r *run) restore(m store.Memory, want bool) {
	r.Helper()
	if lost, err := r.store.(store.Restorer).Restore(context.Background(), m); err != nil || lost != want {
		r.Fatalf("Restore of %+v: lost %t, %v, want %t", m, lost, err, want)
	}
}

// finds fails the case unless a request finds a loss since an instant.
func (r *run) finds(req store.Request, since store.Instant) {
	r.Helper()
	req.Seen = make([]store.Seen, len(req.Charges))
	for i := range req.Seen {
		req.Seen[i].At = since
	}
	if d, err := r.store.Take(context.Background(), req); !errors.Is(err, store.ErrLost) {
		r.Errorf("%+v: %+v, %v, want ErrLost", req, d, err)
	}
}

// alike fails the case unless two decisions are equal to the microsecond.
func (r *run) alike(what string, got, want store.Decision, limits []store.Limit) {
	r.Helper()
	differ := got.Allowed != want.Allowed || (got.Delay-want.Delay).Abs() > time.Microsecond
	for i := range limits {
		a, b := got.Charge(i), want.Charge(i)
		differ = differ || a.Remaining != b.Remaining || (a.ResetAfter-b.ResetAfter).Abs() > time.Microsecond ||
			(a.RetryAfter-b.RetryAfter).Abs() > time.Microsecond
	}
	if differ {
		r.Errorf("%s, %v: %+v, want %+v", what, limits, got, want)
	}
}

// alikeFor compares two keys for a while by looks, calls and slots.
func (r *run) alikeFor(what string, rng *rand.Rand, got, want string, limits []store.Limit) {
	r.Helper()
	for step := range long.Or(6, 3) {
		what := fmt.Sprint(what, ", step ", step)
		r.alike(what, r.look(got, limits...), r.look(want, limits...), limits)
		cost := 1 + rng.Int64N(5)
		r.alike(what, r.take(charge(got, cost, limits...)), r.take(charge(want, cost, limits...)), limits)
		if step%3 == 2 && !slides(limits) {
			cost = 1 + rng.Int64N(3)
			r.alike(what, r.reserve(got, cost, time.Hour, limits...), r.reserve(want, cost, time.Hour, limits...), limits)
		}
		r.sleep(time.Duration(rng.Int64N(limits[0].Period.Microseconds()/4)) * time.Microsecond)
	}
}

// use takes units of a key, at one instant or apart, and returns the memory of the key.
func (r *run) use(rng *rand.Rand, key string, apart bool, limits ...store.Limit) store.Memory {
	r.Helper()
	for range 1 + rng.IntN(4) {
		r.take(charge(key, 1+rng.Int64N(3), limits...))
		if apart {
			r.sleep(time.Duration(rng.Int64N(limits[0].Period.Microseconds()/3)) * time.Microsecond)
		}
	}
	_, m := r.tell(charge(key, 0, limits...))
	r.sleep(time.Duration(1+rng.Int64N(1000)) * time.Microsecond)
	return m
}

// noFreer fails the case if a key admits more than another, or waits a window longer.
func (r *run) noFreer(what string, rng *rand.Rand, got, most string, limits []store.Limit) {
	r.Helper()
	for range 5 {
		a, b := r.look(got, limits...), r.look(most, limits...)
		for j, l := range limits {
			if x, y := a.Charge(j), b.Charge(j); x.Remaining > y.Remaining || x.ResetAfter < y.ResetAfter || x.ResetAfter > 2*l.Period {
				r.Errorf("%s, %v %v: %+v, want at most %+v", what, l.Algorithm, l, x, y)
			}
		}
		d := r.take(charge(got, 1, limits...))
		for j, l := range limits {
			if c := d.Charge(j); c.RetryAfter > l.Period && l.Algorithm != store.SlidingCounter {
				r.Errorf("%s, %v %v: blocked for longer than a window: %+v", what, l.Algorithm, l, c)
			}
		}
		if d.Allowed {
			r.take(charge(most, 1, limits...))
		}
		r.sleep(time.Duration(rng.Int64N(limits[0].Period.Microseconds()/3)) * time.Microsecond)
	}
}

// restored: after Restore a key decides as the remembered one. A memory has only the newest
// slot of a sliding window, so the restored window may be stricter, but never freer.
func restored(r *run) {
	rng := rand.New(rand.NewPCG(41, 42))
	for i, limits := range lossSets() {
		for round := range 6 {
			a, b := fmt.Sprint("kept ", i, round), fmt.Sprint("lost ", i, round)
			apart := round%2 == 1
			m := r.use(rng, a, apart, limits...)
			r.finds(charge(b, 1, limits...), m.At)
			r.restore(of(m, b), true)
			if apart && slides(limits) {
				r.noFreer("restored", rng, b, a, limits)
			} else {
				r.alikeFor("restored", rng, b, a, limits)
			}
		}
	}
}
