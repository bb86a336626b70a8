package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/store"
)

// spending returns a memory with only units admitted without the store.
func (r *run) spending(key, id string, cost int64, limits ...store.Limit) store.Memory {
	r.Helper()
	_, m := r.tell(charge(key+", spent as "+id, cost, limits...))
	return store.Memory{Key: key, Limits: limits, Spent: m.Known, ID: id}
}

// spent: Restore adds the units of each ID once.
func spent(r *run) {
	rng := rand.New(rand.NewPCG(51, 52))
	for i, limits := range lossSets() {
		for _, empty := range []bool{false, true} {
			a, b := fmt.Sprint("all ", i, empty), fmt.Sprint("some ", i, empty)
			if !empty {
				r.take(charge(a, 2, limits...))
				r.take(charge(b, 2, limits...))
			}
			one, two := r.spending(b, "one", 2, limits...), r.spending(b, "two", 1, limits...)
			for range 3 {
				r.restore(one, false)
			}
			r.take(charge(a, 2, limits...))
			r.alike("spent", r.look(b, limits...), r.look(a, limits...), limits)
			r.restore(two, false)
			r.restore(one, false)
			r.restore(two, false)
			r.take(charge(a, 1, limits...))
			r.alikeFor("spent twice", rng, b, a, limits)
		}
		// With a loss known and spent units count together.
		a, b := fmt.Sprint("known and spent ", i), fmt.Sprint("lost and spent ", i)
		_, m := r.tell(charge(a, 3, limits...))
		if !slides(limits) {
			r.sleep(time.Millisecond)
		}
		s := r.spending(b, "one", 2, limits...)
		r.take(charge(a, 2, limits...))
		r.sleep(time.Microsecond)
		s.At, s.Known = m.At, m.Known
		for range 3 {
			r.restore(s, true)
		}
		r.alikeFor("known and spent", rng, b, a, limits)
	}
}

// spentBrim: known and spent units fill a key at most to its brim.
func spentBrim(r *run) {
	for i, limits := range lossSets() {
		key := fmt.Sprint("brim ", i)
		r.take(charge(key, 1, limits...))
		var most []store.Used
		for n := range 4 {
			m := store.Memory{Key: key, Limits: limits, ID: fmt.Sprint(n)}
			var full []store.Decision
			for j, l := range limits {
				used := fmt.Sprint("full ", i, n, j)
				_, told := r.tell(charge(used, l.Max(), l))
				m.Spent = append(m.Spent, told.Known[0])
				full = append(full, r.take(charge(used, 1, l)))
			}
			if most == nil {
				most = m.Spent
			}
			if n == 3 {
				m.At, m.Known = 1, most
			}
			r.restore(m, n == 3)
			d := r.take(charge(key, 1, limits...))
			for j, l := range limits {
				if c := d.Charge(j); c.Remaining > 0 || c.RetryAfter > full[j].RetryAfter+time.Microsecond {
					r.Errorf("%v %v, filled %d times: %+v, want at most %+v", l.Algorithm, l, n+1, c, full[j])
				}
			}
		}
	}
}
