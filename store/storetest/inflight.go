package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// wide is a limit that never refuses here.
var wide = store.Per(1_000_000, time.Second)

// hold returns a request for cost units and a lease of ten seconds.
func hold(key, id string, most, cost int64, limits ...store.Limit) store.Request {
	req := charge(key, cost, limits...)
	req.Hold = store.Hold{Max: most, ID: id, Lease: 10 * time.Second}
	return req
}

// wantHeld fails the case unless exactly n leases of a key are alive.
func (r *run) wantHeld(when, key string, n int64) {
	r.Helper()
	h := r.store.(store.Holder)
	if n > 0 {
		if d := r.take(hold(key, "probe", n, 0, wide)); d.Reason != store.ReasonInFlight {
			r.Errorf("%s: fewer than %d leases are alive: %+v", when, n, d)
		}
	}
	if d := r.take(hold(key, "probe", n+1, 0, wide)); !d.Allowed {
		r.Errorf("%s: more than %d leases are alive: %+v", when, n, d)
	}
	r.must(h.Release(context.Background(), "", key, "probe"))
}

// inFlight: calls at one instant get exactly the free leases. A release frees one.
func inFlight(r *run) {
	h := r.store.(store.Holder)
	id := func(i int) string { return fmt.Sprint("id ", i) }
	for i, l := range each(1000, time.Hour) {
		key := l.Algorithm.String()
		var ids []string
		for j, d := range r.together(60, func(j int) store.Request { return hold(key, id(j), 7, 1, l) }) {
			switch {
			case d.Allowed:
				ids = append(ids, id(j))
			case d.Reason != store.ReasonInFlight || d.RetryAfter != 10*time.Second:
				r.Errorf("%v: refused: %+v, want InFlight and RetryAfter 10s", l.Algorithm, d)
			}
		}
		if len(ids) != 7 {
			r.Fatalf("%v: 60 calls at one instant for 7 leases: %d admitted", l.Algorithm, len(ids))
		}
		if d := r.take(charge(key, 0, l)); d.Remaining != 993 {
			r.Errorf("%v: 7 units are taken, %d remain of 1000", l.Algorithm, d.Remaining)
		}
		n := 1 + i
		r.must(h.Release(context.Background(), "", key, ids[:n]...))
		again := 0
		for _, d := range r.together(60, func(j int) store.Request { return hold(key, id(100+j), 7, 1, l) }) {
			if d.Allowed {
				again++
			}
		}
		if again != n {
			r.Errorf("%v: %d of 7 leases were released, %d admitted", l.Algorithm, n, again)
		}
		// Other requests are not affected: another key, another scope, no lease.
		other := hold(key, "id", 1, 1, l)
		other.Charges[0].Scope = "other"
		for name, req := range map[string]store.Request{"key": hold("other "+key, "id", 1, 1, l), "scope": other, "no lease": charge(key, 1, l)} {
			if d := r.take(req); !d.Allowed {
				r.Errorf("%v: another %s: %+v", l.Algorithm, name, d)
			}
		}
	}
}

// inFlightOrNothing: refused by its limits or by its hold, a request takes neither.
func inFlightOrNothing(r *run) {
	for _, l := range each(2, time.Hour) {
		key := l.Algorithm.String()
		r.take(hold(key, "a", 1, 1, l))
		before := r.take(charge(key, 0, l))
		for range 3 {
			req := hold(key, "b", 1, 1, l)
			req.MaxWait, req.Cancelable = 10*time.Hour, true
			if d := r.take(req); d.Allowed || d.Reason != store.ReasonInFlight || d.Receipt != nil {
				r.Fatalf("%v: a second lease of one: %+v", l.Algorithm, d)
			}
		}
		if after := r.take(charge(key, 0, l)); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			r.Errorf("%v: refused as InFlight, it changed %+v into %+v", l.Algorithm, before, after)
		}
		// The limit is reported first. Such a refusal takes no lease.
		if d := r.take(hold(key, "c", 1, 2, l)); d.Reason != store.ReasonLimited {
			r.Errorf("%v: both refuse: %+v, want Limited", l.Algorithm, d)
		}
		if d := r.take(hold(key, "c", 5, 2, l)); d.Reason != store.ReasonLimited {
			r.Errorf("%v: the limit refuses: %+v", l.Algorithm, d)
		}
		if d := r.take(hold(key, "d", 5, 3, l)); d.Reason != store.ReasonNeverFits {
			r.Errorf("%v: it never fits: %+v", l.Algorithm, d)
		}
		r.wantHeld(l.Algorithm.String(), key, 1)
		// A lease without units, with a slot ahead.
		r.reserve(key, 2, 10*time.Hour, l)
		if d := r.take(hold(key, "e", 2, 0, l)); !d.Allowed || d.Delay != 0 {
			r.Errorf("%v: a lease without units: %+v", l.Algorithm, d)
		}
		if d := r.take(hold(key, "f", 2, 0, l)); d.Reason != store.ReasonInFlight {
			r.Errorf("%v: one lease without units too many: %+v", l.Algorithm, d)
		}
		// A lease together with a slot ahead.
		req := hold(key, "g", 3, 1, l)
		req.MaxWait, req.Cancelable = 10*time.Hour, true
		d := r.take(req)
		if !d.Allowed || d.Delay == 0 {
			r.Errorf("%v: a lease and a later slot: %+v", l.Algorithm, d)
		}
		r.wantHeld(l.Algorithm.String()+", with a slot to come", key, 3)
		if c, ok := r.store.(store.Canceler); ok {
			r.must(c.Cancel(context.Background(), d.Receipt))
			r.wantHeld(l.Algorithm.String()+", with that slot given back", key, 3)
		}
	}
}

// inFlightEnds: a lease ends exactly after its time unless it is renewed. A renewal does not
// revive an ended lease.
func inFlightEnds(r *run) {
	h := r.store.(store.Holder)
	renew := func(key string, lease time.Duration, want []string, ids ...string) {
		r.Helper()
		lost, err := h.Renew(context.Background(), "", key, lease, ids...)
		if slices.Sort(lost); err != nil || !slices.Equal(lost, want) {
			r.Errorf("renewing %v lost %v, %v, want %v", ids, lost, err, want)
		}
	}
	r.take(hold("ends", "a", 1, 1, wide))
	r.sleep(3 * time.Second)
	if d := r.take(hold("ends", "b", 1, 1, wide)); d.RetryAfter != 7*time.Second {
		r.Errorf("3 s into a lease of 10 s: %+v", d)
	}
	r.sleep(7*time.Second - time.Microsecond)
	if d := r.take(hold("ends", "b", 1, 1, wide)); d.Allowed || d.RetryAfter != time.Microsecond {
		r.Errorf("a microsecond before a lease ends: %+v", d)
	}
	r.sleep(time.Microsecond)
	if d := r.take(hold("ends", "b", 1, 1, wide)); !d.Allowed {
		r.Errorf("when the lease has ended: %+v", d)
	}
	renew("ends", 10*time.Second, []string{"a"}, "a", "b")
	r.wantHeld("the lost one is not taken again", "ends", 1)

	r.take(hold("renewed", "a", 2, 1, wide))
	r.take(hold("renewed", "b", 2, 1, wide))
	for range 5 {
		r.sleep(9 * time.Second)
		renew("renewed", 10*time.Second, nil, "a", "b")
	}
	renew("renewed", 20*time.Second, nil, "b")
	if d := r.take(hold("renewed", "c", 2, 1, wide)); d.Allowed || d.RetryAfter != 10*time.Second {
		r.Errorf("one ends in 10 s, the other in 20 s: %+v", d)
	}
	if d := r.take(hold("renewed", "c", 1, 1, wide)); d.Allowed || d.RetryAfter != 20*time.Second {
		r.Errorf("both have to end: %+v", d)
	}
	r.sleep(10 * time.Second)
	renew("renewed", time.Second, []string{"a", "never was"}, "a", "b", "never was")
	r.sleep(time.Second)
	renew("renewed", time.Second, []string{"b"}, "b")
	renew("unknown", time.Second, []string{"x"}, "x")
	renew("unknown", time.Second, nil)
	r.wantHeld("all have ended", "renewed", 0)
	r.wantHeld("nothing was ever held", "unknown", 0)
}

// inFlightChanges: leases outlive changes of the bound, of limits and of units.
func inFlightChanges(r *run) {
	h := r.store.(store.Holder)
	ctx := context.Background()
	for i := range 6 {
		r.take(hold("k", fmt.Sprint(i), 6, 1, wide))
		r.sleep(time.Second)
	}
	// Six leases, which end after 4, 5, … 9 s.
	if d := r.take(hold("k", "x", 3, 1, wide)); d.Allowed || d.RetryAfter != 7*time.Second {
		r.Errorf("six held, three may be: %+v, want room after 7s", d)
	}
	if d := r.take(hold("k", "x", 7, 1, wide)); !d.Allowed {
		r.Errorf("six held, seven may be: %+v", d)
	}
	// Releasing twice, or a lease never taken, is harmless.
	for range 2 {
		r.must(h.Release(ctx, "", "k", "x", "y", "0"))
	}
	r.must(h.Release(ctx, "", "unknown", "x"))
	r.must(h.Release(ctx, "", "k"))
	r.wantHeld("two released", "k", 5)
	// The same ID twice is one lease.
	r.take(hold("k", "5", 10, 1, wide))
	r.wantHeld("one ID twice", "k", 5)
	// A lease without units leaves the limits alone, even under others.
	l := store.Per(4, time.Hour).By(store.FixedWindow)
	r.take(charge("alone", 3, l))
	r.take(hold("alone", "a", 1, 0, wide))
	if d := r.take(charge("alone", 2, l)); d.Allowed || d.Remaining != 1 {
		r.Errorf("a lease without units, under another limit, changed it: %+v", d)
	}
	// Other limits end no lease.
	r.take(charge("k", 1, store.Per(10, time.Minute).By(store.SlidingWindow), store.Per(5, time.Hour)))
	r.wantHeld("under other limits", "k", 5)
	if _, ok := r.store.(store.Resetter); ok {
		r.reset("k")
		r.wantHeld("after a reset", "k", 0)
	}
	for name, bad := range map[string]store.Hold{
		"no most":          {ID: "a", Lease: time.Second},
		"negative":         {Max: -1, ID: "a", Lease: time.Second},
		"too many":         {Max: store.MaxUnits + 1, ID: "a", Lease: time.Second},
		"no ID":            {Max: 1, Lease: time.Second},
		"a long ID":        {Max: 1, ID: fmt.Sprintf("%065d", 1), Lease: time.Second},
		"no lease":         {Max: 1, ID: "a"},
		"a long lease":     {Max: 1, ID: "a", Lease: store.MaxLease + time.Microsecond},
		"half microsecond": {Max: 1, ID: "a", Lease: time.Second + 500},
	} {
		req := charge("bad", 1, wide)
		req.Hold = bad
		if d, err := r.store.Take(ctx, req); !errors.Is(err, store.ErrConfig) {
			r.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if _, err := h.Renew(ctx, "", "bad", 0, "a"); !errors.Is(err, store.ErrConfig) {
		r.Errorf("renewed for no time: %v", err)
	}
}

func inFlightModel(r *run) {
	h := r.store.(store.Holder)
	rng := rand.New(rand.NewPCG(9, 10))
	ends := map[string]time.Duration{}
	var now time.Duration
	for i := range long.Of(3000) {
		some := func() (ids []string) {
			for id := range 40 {
				if id := fmt.Sprint(id); rng.IntN(10) == 0 {
					ids = append(ids, id)
				}
			}
			return ids
		}
		lease := time.Duration(1+rng.IntN(10_000_000)) * time.Microsecond
		lease = max(lease, time.Millisecond)
		switch rng.IntN(6) {
		case 0, 1, 2:
			id, most := fmt.Sprint(rng.IntN(40)), 1+rng.Int64N(12)
			req := hold("k", id, most, rng.Int64N(2), wide)
			req.Hold.Lease = lease
			alive := slices.Sorted(maps.Values(ends))
			d := r.take(req)
			over := len(alive) - int(most)
			if d.Allowed != (over < 0) || over >= 0 && d.RetryAfter != alive[over]-now {
				r.Fatalf("step %d: %d held, %d may be: %+v, leases end at %v, now %v", i, len(alive), most, d, alive, now)
			}
			if d.Allowed {
				ends[id] = now + lease
			}
		case 3:
			ids := some()
			r.must(h.Release(context.Background(), "", "k", ids...))
			for _, id := range ids {
				delete(ends, id)
			}
		case 4:
			ids := some()
			var want []string
			for _, id := range ids {
				if _, ok := ends[id]; ok {
					ends[id] = now + lease
				} else {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			lost, err := h.Renew(context.Background(), "", "k", lease, ids...)
			if slices.Sort(lost); err != nil || !slices.Equal(lost, want) {
				r.Fatalf("step %d: renewing %v lost %v, %v, want %v", i, ids, lost, err, want)
			}
		case 5:
			step := time.Duration(rng.IntN(2_000_000)) * time.Microsecond
			r.sleep(step)
			now += step
			maps.DeleteFunc(ends, func(_ string, end time.Duration) bool { return end <= now })
		}
	}
}
