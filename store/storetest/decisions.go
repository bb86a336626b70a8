package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// concurrency: calls at the same instant get exactly the free units.
func concurrency(r *run) {
	for _, l := range each(100, time.Hour) {
		admitted := 0
		for _, d := range r.together(500, func(int) store.Request { return charge(l.Algorithm.String(), 1, l) }) {
			if d.Allowed {
				admitted++
			}
		}
		if admitted != 100 {
			r.Errorf("%v: 500 calls at one instant on 100: %d admitted", l.Algorithm, admitted)
		}
	}
}

// refusals: a refused call changes nothing, so polling callers get the full rate.
func refusals(r *run) {
	for _, l := range each(5, time.Second) {
		key := l.Algorithm.String()
		for range 5 {
			r.take(charge(key, 1, l))
		}
		before := r.take(charge(key, 0, l))
		for range 20 {
			if d := r.take(charge(key, 1, l)); d.Allowed || d.Reason != store.ReasonLimited || d.RetryAfter <= 0 {
				r.Fatalf("%v: sixth of five: %+v", l.Algorithm, d)
			}
		}
		if after := r.take(charge(key, 0, l)); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			r.Errorf("%v: refusals changed %+v into %+v", l.Algorithm, before, after)
		}
	}
	// Polling at twice the rate admits every second call for ever.
	for _, l := range each(1, 10*time.Second) {
		key := "poll " + l.Algorithm.String()
		for i := 0; !r.take(charge(key, 1, l)).Allowed; i++ {
			if i > 30 {
				r.Fatalf("%v: the first call is never admitted", l.Algorithm)
			}
			r.sleep(time.Second)
		}
		admitted := 0
		for range 40 {
			r.sleep(5 * time.Second)
			if r.take(charge(key, 1, l)).Allowed {
				admitted++
			}
		}
		// The estimate of a sliding counter weighs one unit for two windows.
		if admitted != 20 && (l.Algorithm != store.SlidingCounter || admitted < 10) {
			r.Errorf("%v: polling every 5 s on 1 per 10 s admitted %d in 200 s, want 20", l.Algorithm, admitted)
		}
	}
}

// looks: a request with no cost reports the state of any key. It changes nothing.
func looks(r *run) {
	for _, l := range each(5, time.Minute) {
		look := func(key string, limits ...store.Limit) store.Decision {
			req := charge(key, 0, limits...)
			first := r.take(req)
			req.MaxWait, req.Cancelable = time.Hour, true
			if again := r.take(req); again.Remaining != first.Remaining || again.ResetAfter != first.ResetAfter {
				r.Errorf("%v: a look changed %+v into %+v", l.Algorithm, first, again)
			}
			return first
		}
		other := store.Per(7, time.Hour).By(l.Algorithm)
		used, unknown := "used "+l.Algorithm.String(), "unknown "+l.Algorithm.String()
		if d := look(unknown, l); d.Remaining != 5 || d.ResetAfter != 0 {
			r.Errorf("%v: a look at an unknown key: %+v", l.Algorithm, d)
		}
		r.reserve(used, 5, time.Hour, l)
		r.reserve(used, 5, time.Hour, l) // a slot ahead
		before := look(used, l)
		if before.Remaining != 0 || before.ResetAfter <= 0 {
			r.Errorf("%v: a look at a key that is used up: %+v", l.Algorithm, before)
		}
		look(used, other)
		look(used, l, other)
		look(used, other, l)
		if after := look(used, l); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			r.Errorf("%v: looks under other limits changed %+v into %+v", l.Algorithm, before, after)
		}
	}
}

// binding: a decision reports each limit, and names the tightest. See soundCharges.
func binding(r *run) {
	wide, middle, narrow := store.Per(1000, 24*time.Hour), store.Per(20, time.Hour).By(store.SlidingWindow), store.Per(3, time.Minute).By(store.FixedWindow)
	for name, limits := range map[string][]store.Limit{
		"narrowest last":  {wide.WithName("a"), middle.WithName("b"), narrow.WithName("c")},
		"narrowest first": {narrow.WithName("c"), middle.WithName("b"), wide.WithName("a")},
		"in the middle":   {wide.WithName("a"), narrow.WithName("c"), middle.WithName("b")},
	} {
		for taken := int64(1); taken <= 4; taken++ {
			d := r.take(charge(name, 1, limits...))
			took := min(taken, 3)
			if d.Allowed != (taken < 4) || d.Limit.Name != "c" || d.Remaining != 3-took {
				r.Errorf("%s, call %d: %+v", name, taken, d)
			}
			for i, l := range limits {
				if c := d.Charge(i); c.Remaining != l.Max()-took {
					r.Errorf("%s, call %d: %d of %v remaining, want %d", name, taken, c.Remaining, l, l.Max()-took)
				}
			}
		}
		// A minute later the hour binds, with four fifths left.
		r.sleep(time.Minute)
		if d := r.take(charge(name, 0, limits...)); d.Limit.Name != "b" || d.Remaining != 17 {
			r.Errorf("%s, a minute later: %+v, want 17 of b remaining", name, d)
		}
	}
	// Each limit may have its own cost. A cost of 0 only looks.
	req := charge("costs", 2, wide, narrow)
	req.Charges[1].Cost = 0
	r.take(req)
	if d := r.take(req); !d.Allowed || d.Charge(0).Remaining != 996 || d.Charge(1).Remaining != 3 {
		r.Errorf("two units of one limit and none of another, twice: %+v", d)
	}
	// A limit counts the same under another name.
	r.take(charge("name", 2, narrow.WithName("before")))
	if d := r.take(charge("name", 2, narrow.WithName("after"))); d.Allowed || d.Remaining != 1 || d.Limit.Name != "after" {
		r.Errorf("a limit that was renamed: %+v", d)
	}
}

// soundness: every decision on random limits, costs and waits is sound.
func soundness(r *run) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range long.Of(100) {
		key := fmt.Sprint("sound ", i)
		limits := make([]store.Limit, 1+rng.IntN(4))
		for j := range limits {
			limits[j] = randomLimit(rng)
		}
		for range 25 {
			req := charge(key, rng.Int64N(4), limits...)
			for j := range req.Charges {
				if rng.IntN(8) == 0 {
					req.Charges[j].Cost = rng.Int64N(limits[j].Max() + 2)
				}
			}
			if rng.IntN(2) == 0 {
				req.MaxWait, req.Cancelable = time.Duration(rng.Int64N(int64(limits[0].Period))), rng.IntN(2) == 0
			}
			r.take(req)
			r.sleep(time.Duration(rng.Int64N(int64(limits[0].Period)/1000+1)) / 5 * time.Microsecond)
		}
	}
}

// never: a cost that can't fit is refused for good, and the refusal says so.
func never(r *run) {
	for _, l := range each(5, time.Second) {
		key := "never " + l.Algorithm.String()
		for _, req := range []store.Request{charge(key, 6, l), charge(key, store.MaxUnits*64, l), {Charges: charge(key, 6, l).Charges, MaxWait: time.Hour}} {
			if d := r.take(req); d.Allowed || d.Reason != store.ReasonNeverFits || d.RetryAfter != store.Never || d.Remaining != 5 {
				r.Errorf("%v: six of five: %+v", l.Algorithm, d)
			}
		}
	}
}

// mistakes: a wrong request is a configuration error and takes nothing.
func mistakes(r *run) {
	ok := store.Per(5, time.Second)
	for name, req := range map[string]store.Request{
		"no charges":       {},
		"a rate of zero":   charge("k", 1, store.Limit{Period: time.Second}),
		"a window's burst": charge("k", 1, ok.By(store.FixedWindow).WithBurst(5)),
		"negative cost":    charge("k", -1, ok),
		"negative wait":    {Charges: charge("k", 1, ok).Charges, MaxWait: -1},
		"one of two":       charge("k", 1, ok, store.Limit{Rate: 1}),
	} {
		if d, err := r.store.Take(context.Background(), req); !errors.Is(err, store.ErrConfig) {
			r.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := r.store.Take(ctx, charge("k", 1, ok)); !errors.Is(err, context.Canceled) {
		r.Errorf("a context that is over: %+v, %v", d, err)
	}
	if d := r.take(charge("k", 0, ok)); d.Remaining != 5 {
		r.Errorf("mistakes took: %+v", d)
	}
}
