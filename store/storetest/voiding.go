package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
)

// voidSlots: slots that were booked in a pause and are made void, by lifting it or by
// a longer one, have used nothing. A twin of each key, that is not paused and that
// nobody books on, tells what is used.
func voidSlots(r *run) {
	if r.braker() == nil {
		return
	}
	rng := rand.New(rand.NewPCG(15, 16))
	day := each(10, 24*time.Hour)
	sets := [][]store.Limit{{store.Per(1, 24*time.Hour)}, {store.Per(3, 7*time.Hour), store.Per(40, 24*time.Hour).By(store.FixedWindow), store.Per(30, 24*time.Hour).By(store.SlidingWindow)}}
	for _, l := range day {
		sets = append(sets, []store.Limit{l})
	}
	for i, limits := range sets {
		var costs [][2]int64
		for _, used := range []int64{0, 1, 2} {
			for _, settled := range []int64{0, 1, 2, 4} {
				if most := limits[0].Max(); used <= most && settled <= most {
					costs = append(costs, [2]int64{used, settled})
				}
			}
		}
		for _, n := range long.Some(rng, len(costs)) {
			used, settled := costs[n][0], costs[n][1]
			r.void(fmt.Sprintf("void %d %d %d", i, used, settled), used, settled, limits)
		}
	}
}

// void has a key paused of which some units are used, which are settled at others
// while it is.
func (r *run) void(key string, used, settled int64, limits []store.Limit) {
	twin := key + " twin"
	kept := func(key string) store.Decision {
		req := charge(key, used, limits...)
		req.Cancelable = true
		return r.take(req)
	}
	a, b := kept(key), kept(twin)
	same := func(when string) {
		r.Helper()
		r.brake(key, store.Brake{Lift: true}, limits...)
		got, want := r.take(charge(key, 0, limits...)), r.take(charge(twin, 0, limits...))
		if got.Remaining != want.Remaining || got.ResetAfter != want.ResetAfter {
			r.Errorf("%s, %v: %d remaining, reset after %v, want %d, %v", key, when, got.Remaining, got.ResetAfter, want.Remaining, want.ResetAfter)
		}
	}
	book := func() (slots []store.Decision) {
		for range 5 {
			slots = append(slots, r.reserve(key, 1, 90*24*time.Hour, limits...))
		}
		return slots
	}
	void := func(slots []store.Decision) {
		c, ok := r.store.(store.Canceler)
		for _, d := range slots[1:] {
			if ok && d.Allowed {
				if err := c.Cancel(context.Background(), d.Receipt); err != nil {
					r.Error(err)
				}
			}
		}
	}

	r.brake(key, store.Brake{Pause: 10 * time.Minute}, limits...)
	first := book()
	r.sleep(time.Minute)
	if _, ok := r.store.(store.Settler); ok && used > 0 && settled != used {
		r.settle(a, settled)
		r.settle(b, settled)
	}
	same("lifted")
	void(first)
	same("void slots given back")

	r.brake(key, store.Brake{Pause: time.Hour}, limits...)
	slots := book()
	var old []store.Decision
	for i := range 10 {
		r.sleep(time.Minute)
		r.brake(key, store.Brake{Pause: time.Hour}, limits...)
		if i%2 == 0 {
			void(slots)
		} else {
			old = append(old, slots...)
		}
		slots = book()
		if free := r.take(charge(twin, 0, limits...)).Remaining > 0; free && (!slots[0].Allowed || slots[0].Delay != time.Hour) {
			r.Errorf("%s, paused for longer %d times: the first slot: %+v", key, i+1, slots[0])
		}
	}
	r.brake(key, store.Brake{Pause: 2 * time.Hour}, limits...)
	old = append(old, slots...)
	same("paused for longer")
	void(old)
	same("void slots of several pauses given back")
}

// voidLater: a slot that was made void is known as such when it is given back after
// others were, and after the pause was lifted when nobody had booked since.
func voidLater(r *run) {
	if _, ok := r.store.(store.Canceler); !ok || r.braker() == nil {
		return
	}
	for _, again := range []bool{false, true} {
		for _, l := range each(10, 24*time.Hour) {
			key := fmt.Sprint("later ", l.Algorithm, again)
			kept := charge(key, 3, l)
			kept.Cancelable = true
			r.take(kept)
			r.brake(key, store.Brake{Pause: 10 * time.Second}, l)
			void := r.reserve(key, 2, time.Hour, l)
			r.sleep(time.Second)
			r.brake(key, store.Brake{Pause: 20 * time.Second}, l)
			if again {
				r.sleep(11 * time.Second)
				r.reserve(key, 1, time.Hour, l)
				r.sleep(500 * time.Millisecond)
				r.brake(key, store.Brake{Pause: time.Minute}, l)
			}
			r.sleep(time.Second)
			r.brake(key, store.Brake{Lift: true}, l)
			if err := r.store.(store.Canceler).Cancel(context.Background(), void.Receipt); err != nil {
				r.Error(err)
			}
			if d := r.take(charge(key, 0, l)); d.Remaining != 7 {
				r.Errorf("%v, again %t: %d remaining, 3 of 10 were used", l.Algorithm, again, d.Remaining)
			}
		}
	}
}

// nearSlots: a slot that comes at once stays used when the key is paused and let go
// before it has come.
func nearSlots(r *run) {
	if r.braker() == nil {
		return
	}
	for _, l := range each(1, time.Minute) {
		key := "near " + l.Algorithm.String()
		r.take(charge(key, 1, l))
		r.sleep(r.take(charge(key, 1, l)).RetryAfter - 50*time.Millisecond)
		d := r.reserve(key, 1, 60*time.Millisecond, l)
		r.brake(key, store.Brake{Pause: time.Second}, l)
		r.sleep(time.Microsecond)
		r.brake(key, store.Brake{Lift: true}, l)
		r.sleep(200 * time.Millisecond)
		if e := r.take(charge(key, 1, l)); e.Allowed {
			r.Errorf("%v: a slot %v ahead is free after a pause that was lifted: %+v", l.Algorithm, d.Delay, e)
		}
	}
}
