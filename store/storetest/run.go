package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

type run struct {
	*testing.T
	store store.Store
	sleep func(time.Duration)
}

// needs is a set of optional abilities of a store.
type needs int

const (
	cancels needs = 1 << iota
	settles
	resets
	brakes
	holds
	restores
)

// lacks returns the first needed ability missing in the store; "": none.
func (r *run) lacks(n needs) string {
	_, canCancel := r.store.(store.Canceler)
	_, canSettle := r.store.(store.Settler)
	_, canReset := r.store.(store.Resetter)
	b, canBrake := r.store.(store.Braker)
	if canBrake && n&brakes != 0 {
		err := b.Brake(context.Background(), charge("can it", 0, store.Per(1, time.Second)).Charges, store.Brake{Lift: true})
		canBrake = !errors.Is(err, store.ErrUnsupported)
	}
	_, canHold := r.store.(store.Holder)
	_, canRestore := r.store.(store.Restorer)
	for _, a := range []struct {
		need needs
		name string
		can  bool
	}{
		{cancels, "store.Canceler", canCancel}, {settles, "store.Settler", canSettle}, {resets, "store.Resetter", canReset},
		{brakes, "store.Braker", canBrake}, {holds, "store.Holder", canHold}, {restores, "store.Restorer", canRestore},
	} {
		if n&a.need != 0 && !a.can {
			return a.name
		}
	}
	return ""
}

// take takes the costs of a request. Without a decision the case ends.
func (r *run) take(req store.Request) store.Decision {
	r.Helper()
	d, err := r.store.Take(context.Background(), req)
	r.must(err)
	r.check(req, d)
	return d
}

// look returns the state of a key's limits.
func (r *run) look(key string, limits ...store.Limit) store.Decision {
	r.Helper()
	return r.take(charge(key, 0, limits...))
}

// reserve takes a cancelable slot up to maxWait away.
func (r *run) reserve(key string, cost int64, maxWait time.Duration, limits ...store.Limit) store.Decision {
	r.Helper()
	req := charge(key, cost, limits...)
	req.MaxWait, req.Cancelable = maxWait, true
	return r.take(req)
}

// check fails the case if a decision can't be right.
func (r *run) check(req store.Request, d store.Decision) {
	r.Helper()
	if err := sound(req, d); err != nil {
		r.Errorf("%v: %.1000s", err, fmt.Sprintf("%+v for %+v", d, req)) // Keys may be long.
	}
}

// same fails the case unless two decisions agree about the limits.
func (r *run) same(what string, got, want store.Decision) {
	r.Helper()
	plain := func(d store.Decision) string {
		d.Receipt, d.Clock, d.At, d.Slot = nil, nil, 0, 0
		return fmt.Sprint(d)
	}
	if plain(got) != plain(want) {
		r.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// cancel gives slots back, one after another.
func (r *run) cancel(slots ...store.Decision) {
	r.Helper()
	for _, d := range slots {
		r.done("Cancel", d, r.store.(store.Canceler).Cancel(context.Background(), d.Receipt))
	}
}

func (r *run) settle(d store.Decision, costs ...int64) {
	r.Helper()
	r.done("Settle", d, r.store.(store.Settler).Settle(context.Background(), d.Receipt, costs...))
}

func (r *run) done(what string, d store.Decision, err error) {
	r.Helper()
	if d.Receipt == nil || err != nil {
		r.Fatalf("%s of %+v: %v", what, d, err)
	}
}

// must ends the case with an error, if there is one.
func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) reset(key string) {
	r.Helper()
	r.must(r.store.(store.Resetter).Reset(context.Background(), "", key))
}

func (r *run) brake(key string, b store.Brake, limits ...store.Limit) {
	r.Helper()
	r.must(r.store.(store.Braker).Brake(context.Background(), charge(key, 0, limits...).Charges, b))
}

// together makes n requests at the same time, and returns the decisions.
func (r *run) together(n int, req func(i int) store.Request) []store.Decision {
	r.Helper()
	all := make([]store.Decision, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := req(i)
			d, err := r.store.Take(context.Background(), req)
			if err != nil {
				r.Errorf("Take: %v", err)
				return
			}
			r.check(req, d)
			all[i] = d
		})
	}
	wg.Wait()
	return all
}

// charge returns a request for cost units of key under limits.
func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}

// charges returns a request for one unit of each key under its own limit.
func charges(list ...store.Charge) store.Request {
	for i := range list {
		list[i].Cost = 1
	}
	return store.Request{Charges: list}
}

// takesKeys reports whether the store takes charges of these keys at once. Some stores can't.
func (r *run) takesKeys(keys ...string) bool {
	r.Helper()
	var req store.Request
	for _, key := range keys {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: store.Per(1, time.Hour)})
	}
	_, err := r.store.Take(context.Background(), req)
	if err != nil {
		r.Logf("charges of several keys are not tried: %v", err)
	}
	return err == nil
}
