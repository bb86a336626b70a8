package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// levelsOf returns a request for one unit of each of three levels, narrowest first.
func levelsOf(name string, user, org, all store.Limit) store.Request {
	return charges(
		store.Charge{Scope: "user", Key: name, Limit: user},
		store.Charge{Scope: "org", Key: "acme", Limit: org},
		store.Charge{Scope: "all", Key: "all", Limit: all},
	)
}

// levels: a decision names the binding scope of equal limits. A refusal takes nothing.
func levels(r *run) {
	for _, l := range each(3, time.Hour) {
		for at, scope := range []string{"user", "org", "all"} {
			limits := [3]store.Limit{store.Per(9, time.Hour), store.Per(9, time.Hour), store.Per(9, time.Hour)}
			limits[at] = l
			req := levelsOf("ann", limits[0], limits[1], limits[2])
			if !r.takesKeys("ann", "acme", "all") {
				return
			}
			for i := range req.Charges {
				req.Charges[i].Key += fmt.Sprint(" ", l.Algorithm, at)
			}
			for i := range int64(5) {
				d := r.take(req)
				if d.Scope != scope || d.Allowed != (i < 3) {
					r.Fatalf("%v, call %d: %+v, want %s to bind", l.Algorithm, i, d, scope)
				}
				for j := range req.Charges {
					c, left := d.Charge(j), limits[j].Max()-min(i+1, 3)
					if c.Remaining != left || (c.RetryAfter > 0) != (i >= 3 && j == at) {
						r.Fatalf("%v, call %d: level %d is %+v, want %d remaining", l.Algorithm, i, j, c, left)
					}
				}
			}
		}
	}
	// A level whose cost never fits is named, too. So is the binding level of a look.
	req := levelsOf("bob", store.Per(9, time.Hour), store.Per(9, time.Hour), store.Per(9, time.Hour))
	req.Charges[1].Cost = 10
	if d := r.take(req); d.Scope != "org" || d.Reason != store.ReasonNeverFits {
		r.Errorf("a cost that never fits: %+v, want org to refuse", d)
	}
	r.take(charges(store.Charge{Scope: "all", Key: "all", Limit: store.Per(9, time.Hour)}))
	for i := range req.Charges {
		req.Charges[i].Cost = 0
	}
	if d := r.take(req); d.Scope != "all" || !d.Allowed {
		r.Errorf("a look: %+v, want all to bind", d)
	}
	// A level with a cost of 0 refuses nothing.
	full := store.Per(1, time.Hour)
	r.take(charges(store.Charge{Scope: "org", Key: "full", Limit: full}))
	req = levelsOf("cyd", full, full, full)
	req.Charges[1].Key, req.Charges[1].Cost, req.Charges[2].Key = "full", 0, "others"
	if d := r.take(req); !d.Allowed || d.Charge(1).Remaining != 0 || d.Charge(2).Remaining != 0 {
		r.Errorf("beside a level that is only looked at: %+v", d)
	}
}

// slowLevels: a brake on one level's key affects that level alone.
func slowLevels(r *run) {
	k := r.store.(store.Braker)
	if !r.takesKeys("ann", "acme", "all") {
		return
	}
	l := store.Per(5, time.Hour)
	req := levelsOf("ann", l, l, l)
	r.must(k.Brake(context.Background(), req.Charges[1:2], store.Brake{Pause: time.Minute}))
	d := r.take(req)
	if d.Allowed || d.Scope != "org" || d.Reason != store.ReasonPaused || d.RetryAfter != time.Minute {
		r.Errorf("org is paused: %+v", d)
	}
	for i, want := range []store.ChargeState{{Remaining: 5}, {ResetAfter: time.Minute, RetryAfter: time.Minute}, {Remaining: 5}} {
		if got := d.Charge(i); got != want {
			r.Errorf("org is paused: level %d is %+v, want %+v", i, got, want)
		}
	}
	// A pause that ends before the user has units again does not bind.
	r.take(func() store.Request { all := charges(req.Charges[0]); all.Charges[0].Cost = 5; return all }())
	if d := r.take(req); d.Scope != "user" || d.Reason != store.ReasonLimited || d.RetryAfter != 12*time.Minute {
		r.Errorf("org is paused, and the user has nothing left: %+v", d)
	}
}

// levelsRetryAfter: with random levels and costs, RetryAfter is exactly long enough.
func levelsRetryAfter(r *run) {
	rng := rand.New(rand.NewPCG(11, 12))
	if !r.takesKeys("ann", "acme", "all") {
		return
	}
	for i := range long.Of(40) {
		req := levelsOf("ann", randomLimit(rng), randomLimit(rng), randomLimit(rng))
		for j := range req.Charges {
			req.Charges[j].Key += fmt.Sprint(" ", i)
			req.Charges[j].Cost = rng.Int64N(min(req.Charges[j].Limit.Max(), 4) + 1)
		}
		req.Cancelable = i%2 == 0
		for range 12 {
			d := r.take(req)
			if d.Allowed {
				continue
			}
			if short := time.Duration(rng.Int64N(int64(d.RetryAfter)/1000)) * time.Microsecond; short > 0 && rng.IntN(2) == 0 {
				r.sleep(short)
				d.RetryAfter -= short
				if early := r.take(req); early.Allowed || early.RetryAfter > d.RetryAfter {
					r.Errorf("%v before RetryAfter: %+v for %+v", d.RetryAfter, early, req)
				}
			}
			r.sleep(d.RetryAfter)
			if again := r.take(req); !again.Allowed {
				r.Errorf("after a RetryAfter of %v: %+v for %+v", d.RetryAfter, again, req)
			}
		}
	}
}
