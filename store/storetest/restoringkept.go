package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/store"
)

// kept: after any charges and returns, a memory changes nothing of a key without a loss.
func kept(r *run) {
	for i, limits := range lossSets() {
		key := fmt.Sprint("kept ", i)
		_, first := r.tell(charge(key, 2, limits...))
		booked := r.reserve(key, 3, 0, limits...)
		_, m := r.tell(charge(key, 0, limits...))
		same := func(what string) {
			r.Helper()
			before := r.look(key, limits...)
			for _, m := range []store.Memory{first, m, first} {
				r.restore(m, false)
			}
			r.alike("kept, "+what, r.look(key, limits...), before, limits)
		}
		same("at once")
		r.sleep(time.Millisecond)
		same("later")
		if r.lacks(settles) == "" && booked.Allowed {
			r.settle(booked, 1)
			same("settled")
			booked = r.reserve(key, 2, 0, limits...)
		}
		if r.lacks(cancels) == "" && booked.Allowed {
			r.cancel(booked)
			same("cancelled")
		}
		r.take(charge(key, 1, limits...))
		same("taken since")
	}
}

// resetKept: no memory brings back units from before a reset, even after a loss in between.
func resetKept(r *run) {
	rng := rand.New(rand.NewPCG(45, 46))
	for i, limits := range lossSets() {
		for _, lost := range []bool{false, true} {
			key, fresh := fmt.Sprint("reset ", i, lost), fmt.Sprint("fresh ", i, lost)
			m := r.use(rng, key, false, limits...)
			if lost {
				key = fmt.Sprint("lost and reset ", i)
				m = of(m, key)
			}
			r.reset(key)
			r.sleep(time.Microsecond)
			r.restore(m, false)
			req := charge(key, 1, limits...)
			req.Seen = make([]store.Seen, len(limits))
			for j := range req.Seen {
				req.Seen[j].At = m.At
			}
			r.alike("reset", r.take(req), r.take(charge(fresh, 1, limits...)), limits)
			r.restore(m, false)
			r.alikeFor("reset", rng, key, fresh, limits)
			r.restore(m, false)
			if r.lacks(cancels) != "" {
				continue
			}
			a, b := r.reserve(key, 1, time.Hour, limits...), r.reserve(fresh, 1, time.Hour, limits...)
			r.alike("booked after a reset", a, b, limits)
			r.restore(m, false)
			r.cancel(a, b)
			r.alike("cancelled after a reset", r.look(key, limits...), r.look(fresh, limits...), limits)
		}
	}
}

// restoredLapsed: units that no longer count change nothing.
func restoredLapsed(r *run) {
	rng := rand.New(rand.NewPCG(47, 48))
	for i, limits := range lossSets() {
		if limits[len(limits)-1].Period > time.Hour {
			continue
		}
		key, fresh := fmt.Sprint("lapsed ", i), fmt.Sprint("fresh ", i)
		m := r.use(rng, fmt.Sprint("used ", i), false, limits...)
		m = of(m, key)
		m.Last, m.Spent, m.ID, m.Ahead = m.At+1, m.Known, "lapsed", m.At+1
		r.sleep(2 * time.Hour)
		r.take(charge(key, 1, limits...))
		r.take(charge(fresh, 1, limits...))
		r.restore(m, true)
		r.alikeFor("lapsed", rng, key, fresh, limits)
		r.restore(of(m, key+" anew"), true)
		r.alikeFor("lapsed", rng, key+" anew", fresh+" anew", limits)
	}
}

// restoreMistakes: a wrong memory is a configuration error, and changes nothing.
func restoreMistakes(r *run) {
	l := store.Per(5, time.Second)
	used := func(u store.Used) []store.Used { return []store.Used{u} }
	for name, m := range map[string]store.Memory{
		"no limits":       {At: 1},
		"a rate of zero":  {At: 1, Limits: []store.Limit{{Period: time.Second}}, Known: used(store.Used{})},
		"nothing known":   {At: 1, Limits: []store.Limit{l}},
		"known too often": {At: 1, Limits: []store.Limit{l}, Known: make([]store.Used, 2)},
		"spent too often": {Limits: []store.Limit{l}, Spent: make([]store.Used, 2), ID: "id"},
		"a long ago":      {At: -1, Limits: []store.Limit{l}, Known: used(store.Used{})},
		"a far slot":      {At: 1, Last: 1 << 60, Limits: []store.Limit{l}, Known: used(store.Used{})},
		"negative units":  {At: 1, Limits: []store.Limit{l.By(store.FixedWindow)}, Known: used(store.Used{Units: -1})},
		"a long rest":     {At: 1, Limits: []store.Limit{l}, Known: used(store.Used{At: 1, Units: 5})},
		"too many units":  {Limits: []store.Limit{l.By(store.FixedWindow)}, Spent: used(store.Used{Units: 1 << 60}), ID: "id"},
	} {
		m.Key = "k"
		if lost, err := r.store.(store.Restorer).Restore(context.Background(), m); !errors.Is(err, store.ErrConfig) {
			r.Errorf("%s: %t, %v", name, lost, err)
		}
	}
	if d := r.look("k", l); d.Remaining != 5 {
		r.Errorf("mistakes restored: %+v", d)
	}
	// After numbers that no store reports, the key still answers.
	for i, limits := range lossSets() {
		far := make([]store.Used, len(limits))
		for j := range far {
			far[j].At = 1<<53 - 1
			if limits[j].Algorithm != store.GCRA {
				far[j].Units, far[j].Before = 1<<51, 1<<51
			}
		}
		key := fmt.Sprint("far ", i)
		m := store.Memory{Key: key, Limits: limits, At: 1, Known: far, Last: 1<<53 - 1, Spent: far, Ahead: 1<<53 - 1, ID: "id"}
		r.restore(m, true)
		m.ID = "another"
		r.restore(m, true)
		if d := r.take(charge(key, 1, limits...)); d.Allowed {
			r.Errorf("%v, used far ahead: %+v", limits, d)
		}
	}
}

// restoredChanged: another release remembers or counts a key under other limits.
func restoredChanged(r *run) {
	rng := rand.New(rand.NewPCG(49, 50))
	// One caller for each of many limits.
	var all []store.Memory
	for n := range int64(70) {
		_, m := r.tell(charge(fmt.Sprint("many ", n), 1, store.Per(10+n, time.Minute).By(store.Algorithm(n%5))))
		all = append(all, m)
	}
	r.sleep(time.Microsecond)
	for i, limits := range lossSets() {
		for _, m := range all {
			r.restore(of(m, fmt.Sprint("changed ", i)), true)
		}
		r.take(charge(fmt.Sprint("changed ", i), 1, limits...))
	}
	for i, limits := range lossSets() {
		a, b, c := fmt.Sprint("kept ", i), fmt.Sprint("lost ", i), fmt.Sprint("other ", i)
		other := store.Per(1000, time.Minute).By(store.Algorithm(i % 5))
		m := r.use(rng, a, false, limits...)
		r.take(charge(b, 2, other))
		r.restore(of(m, b), true)
		kept, lost := r.look(a, limits...), r.look(b, limits...)
		for j, l := range limits {
			if lost.Charge(j).Remaining > kept.Charge(j).Remaining {
				r.Errorf("%v, restored beside %v: %+v, want at most %+v", l, other, lost, kept)
			}
		}
		if d := r.look(b, other); d.Remaining > 998 {
			r.Errorf("%v beside %v, which was restored: %+v", other, limits, d)
		}
		// A limit at another place, and a limit named twice.
		m = of(m, c)
		m.Limits, m.Known = append(m.Limits[1:len(m.Limits):len(m.Limits)], m.Limits...), append(m.Known[1:len(m.Known):len(m.Known)], m.Known...)
		r.restore(m, true)
		r.restore(m, true)
		r.alikeFor("restored in another order", rng, c, a, limits)
	}
}
