package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// restoredOnce: callers with equal and different knowledge restore a key in any order, while
// calls are admitted. In the end the key is the same as without the loss.
func restoredOnce(r *run) {
	rng := rand.New(rand.NewPCG(43, 44))
	for i, limits := range lossSets() {
		for _, callers := range []int{2, 4, 16} {
			a, b := fmt.Sprint("kept ", i, " ", callers), fmt.Sprint("lost ", i, " ", callers)
			all := make([]store.Memory, callers)
			for j := range all {
				if all[j] = all[max(j-1, 0)]; j == 0 || j < 3 && rng.IntN(2) == 0 {
					_, all[j] = r.tell(charge(a, 1, limits...))
				}
			}
			rng.Shuffle(callers, func(i, j int) { all[i], all[j] = all[j], all[i] })
			r.sleep(time.Millisecond)
			// A bucket that is full for a while after its birth has forgotten its earlier units.
			admit := func() {
				r.alike("admitted", store.Decision{Allowed: r.take(charge(b, 1, limits...)).Allowed}, store.Decision{Allowed: r.take(charge(a, 1, limits...)).Allowed}, nil)
			}
			if callers == 4 {
				admit()
			}
			for j, m := range all {
				r.restore(of(m, b), true)
				if callers == 4 && j == 1 {
					admit()
				}
				r.restore(of(all[rng.IntN(j+1)], b), true)
			}
			if what := fmt.Sprint(callers, " callers"); slides(limits) && callers == 4 {
				r.noFreer(what, rng, b, a, limits)
			} else {
				r.alikeFor(what, rng, b, a, limits)
			}
		}
	}
}

// restoredMoved: callers know a sliding window at different times. Units of one memory count
// as long as any memory says.
func restoredMoved(r *run) {
	narrow, wide := store.Per(9, 10*time.Second).By(store.SlidingWindow), store.Per(20, time.Minute).By(store.SlidingWindow)
	for i, limits := range [][]store.Limit{{wide}, {wide, narrow}, {narrow, wide}} {
		for order := range 8 {
			a, b := fmt.Sprint("kept ", i, order), fmt.Sprint("lost ", i, order)
			var all []store.Memory
			for _, sleep := range []time.Duration{5 * time.Second, 56 * time.Second, time.Second} {
				_, m := r.tell(charge(a, 4, limits...))
				all = append(all, of(m, b))
				r.sleep(sleep)
			}
			if order >= 6 {
				all[0], all[2] = all[2], all[0] // The first memory restored is the oldest or the newest.
			}
			for n := range 4 {
				r.restore(all[(order+n)%3], true)
			}
			if order%2 == 0 {
				r.take(charge(b, 1, limits...))
				r.take(charge(a, 1, limits...))
				r.restore(all[order%3], true)
			}
			r.noFreer(fmt.Sprint("order ", order), rand.New(rand.NewPCG(1, 2)), b, a, limits)
			for range 4 {
				x, y := r.look(b, limits...), r.look(a, limits...)
				for j, l := range limits {
					if x.Charge(j).Remaining > y.Charge(j).Remaining || l == wide && x.Charge(j).Remaining < y.Charge(j).Remaining-9 {
						r.Errorf("order %d, %v: %+v, want about %+v", order, l, x, y)
					}
				}
				r.sleep(17 * time.Second)
			}
		}
	}
}

// lost: a caller that knows lost units gets ErrLost and takes nothing. Others may take.
func lost(r *run) {
	for i, limits := range lossSets() {
		a, b := fmt.Sprint("kept ", i), fmt.Sprint("lost ", i)
		_, m := r.tell(charge(a, 2, limits...))
		r.finds(charge(b, 1, limits...), m.At-1) // The key has no state.
		r.sleep(time.Microsecond)
		d, own := r.tell(charge(b, 2, limits...))
		check := func(what string) {
			r.alike(what, r.look(b, limits...), d, limits)
		}
		for _, wait := range []time.Duration{0, time.Hour} {
			for _, cancelable := range []bool{false, true} {
				for _, cost := range []int64{0, 1, limits[0].Max()} {
					req := charge(b, cost, limits...)
					req.MaxWait, req.Cancelable = wait, cancelable
					r.finds(req, m.At)
					r.finds(req, own.At-1)
					check(fmt.Sprintf("a loss found by %+v", req))
				}
			}
		}
		if r.takesKeys("one", "two") {
			before := r.look(a, limits...)
			for _, keys := range [][2]string{{a, b}, {b, a}} {
				req := charge(keys[0], 1, limits...)
				req.Charges = append(req.Charges, charge(keys[1], 1, limits...).Charges...)
				r.finds(req, m.At)
				check("a loss found by a call of two keys")
				r.alike("beside a loss", r.look(a, limits...), before, limits)
			}
		}
		if r.lacks(holds) == "" {
			req := charge(b, 1, limits...)
			req.Hold = store.Hold{Max: 1, ID: "one", Lease: time.Minute}
			r.finds(req, m.At)
			check("a loss found by a call in flight")
			req = charge(b, 0, limits...)
			req.Hold = store.Hold{Max: 1, ID: "two", Lease: time.Minute}
			if d := r.take(req); !d.Allowed {
				r.Errorf("a call that found a loss holds a lease: %+v", d)
			}
		}
		r.lostTogether(b, limits, m.At, own.At)
	}
}

// lostTogether makes callers with different knowledge ask at the same time.
func (r *run) lostTogether(key string, limits []store.Limit, before, after store.Instant) {
	r.Helper()
	start := r.look(key, limits...)
	var mu sync.Mutex
	var wg sync.WaitGroup
	taken := int64(0)
	for i := range 30 {
		wg.Go(func() {
			since := []store.Instant{before, 0, after}[i%3]
			req := charge(key, 1, limits...)
			req.Seen = make([]store.Seen, len(limits))
			for j := range req.Seen {
				req.Seen[j].At = since
			}
			d, err := r.store.Take(context.Background(), req)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !d.Allowed && req.Seen[0].At == 0: // Refused without the backend.
			case errors.Is(err, store.ErrLost) != (since == before) || err != nil && since != before:
				r.Errorf("seen at %d: %+v, %v", since, d, err)
			case d.Allowed:
				taken++
			}
		})
	}
	wg.Wait()
	if d := r.look(key, limits...); d.Charge(0).Remaining != start.Charge(0).Remaining-taken {
		r.Errorf("%v: %d taken of %+v: %+v", limits, taken, start, d)
	}
}
