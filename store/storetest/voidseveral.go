package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
)

// voidSeveral: under several limits a slot that is made void has used nothing of any
// of them. A twin of each key, on which only those who act take, and when they do,
// tells what is used.
func voidSeveral(r *run) {
	if r.braker() == nil {
		return
	}
	gives := r.canceler() != nil
	rng := rand.New(rand.NewPCG(7, 8))
	narrow := []store.Limit{store.Per(1, time.Second), store.Per(4, 2*time.Second).WithBurst(2), store.Per(4, 3*time.Second).By(store.SlidingWindow)}
	wide := each(30, time.Minute)
	for _, n := range long.Some(rng, 6*len(narrow)*len(wide)) {
		story, l, w := n%6, narrow[n/6%len(narrow)], wide[n/6/len(narrow)]
		t := &twins{run: r, rng: rng, key: fmt.Sprint("void several ", n), limits: []store.Limit{l, w}, gives: gives, exact: true}
		if story%3 == 0 {
			t.limits[0], t.limits[1] = w, l
		}
		t.story(story%2 == 0)
	}
}

// twins are a key that is paused while callers wait, and its twin.
type twins struct {
	*run
	rng    *rand.Rand
	key    string
	limits []store.Limit
	gives  bool // the store takes slots back
	exact  bool // nothing has happened that a store need not know exactly
	now    int64
	acts   []slotOf // still to come
}

// slotOf is a slot, and the decision that granted it.
type slotOf struct {
	at, cost int64
	d        store.Decision
}

func (t *twins) twin() string { return t.key + " twin" }

// pass lets time pass, in which those act whose slots come.
func (t *twins) pass(d int64) {
	end := t.now + d
	for len(t.acts) > 0 && t.acts[0].at <= end {
		a := t.acts[0]
		t.acts = t.acts[1:]
		t.to(a.at)
		if d := t.take(charge(t.twin(), a.cost, t.limits...)); !d.Allowed {
			t.Fatalf("%s, %v: %d units at %d exceed the limits", t.key, t.limits, a.cost, a.at)
		}
	}
	t.to(end)
}

func (t *twins) to(at int64) {
	t.sleep(time.Duration(at-t.now) * time.Microsecond)
	t.now = at
}

func (t *twins) story(cancels bool) {
	for range 60 {
		t.pass(t.rng.Int64N(2_000_000))
		switch n := t.rng.IntN(10); {
		case n == 0:
			t.pause(1 + t.rng.Int64N(3_000_000))
		case n == 1 && len(t.acts) > 0 && cancels && t.gives:
			t.cancel(t.rng.IntN(len(t.acts)))
		default:
			for range 1 + t.rng.IntN(5) {
				t.book(1 + t.rng.Int64N(2))
			}
		}
	}
	t.pause(1)
	// A bucket that was full when void slots would have come is as good as empty.
	t.pass(3_000_000)
	got, want := t.take(charge(t.key, 0, t.limits...)), t.take(charge(t.twin(), 0, t.limits...))
	if t.exact && got.Remaining != want.Remaining || got.Remaining > want.Remaining {
		t.Errorf("%s, %v: %d remaining of %v, want %d of %v", t.key, t.limits, got.Remaining, got.Limit, want.Remaining, want.Limit)
	}
}

func (t *twins) book(cost int64) {
	if len(t.acts) == 16 {
		return
	}
	req := charge(t.key, cost, t.limits...)
	req.MaxWait, req.Cancelable = 20*time.Second, true
	if d := t.take(req); d.Allowed {
		t.acts = append(t.acts, slotOf{t.now + d.Delay.Microseconds(), cost, d})
		t.pass(0)
	}
}

// pause has all slots void but those that come at once, which are waited for.
func (t *twins) pause(d int64) {
	t.brake(t.key, store.Brake{Pause: time.Duration(d) * time.Microsecond}, t.limits...)
	kept := 0
	for kept < len(t.acts) && t.acts[kept].at <= t.now+100_000 {
		kept++
	}
	void := t.acts[kept:]
	t.acts = t.acts[:kept]
	t.pass(t.rng.Int64N(d))
	for _, s := range void {
		if t.gives {
			t.giveBack(s.d) // Which changes nothing.
		}
	}
	t.pass(d + 100_001)
}

// cancel gives a slot back, which leaves the others where they are. Of one that is
// not the last a store may keep some units as used.
func (t *twins) cancel(i int) {
	t.exact = t.exact && i == len(t.acts)-1
	t.giveBack(t.acts[i].d)
	t.acts = slices.Delete(t.acts, i, i+1)
}

// voidCrowd: of a crowd's slots that are made void a store may count some, but only
// few.
func voidCrowd(r *run) {
	if r.braker() == nil {
		return
	}
	rounds := long.Of(4)
	for _, day := range each(1000, 24*time.Hour) {
		limits := []store.Limit{store.Per(1, time.Second), day}
		key := "void crowd " + day.Algorithm.String()
		for range rounds {
			for range 400 {
				r.reserve(key, 1, time.Hour, limits...)
			}
			r.sleep(9*time.Second + time.Millisecond)
			r.brake(key, store.Brake{Pause: time.Second}, limits...)
			r.sleep(2 * time.Second)
		}
		r.sleep(time.Minute)
		// Of the day alone. Each time at most eleven acted, and few more are counted.
		req := charge(key, 0, limits...)
		req.Charges[1].Cost = 1000 - int64(rounds)*(11+50)
		if d := r.take(req); !d.Allowed {
			r.Errorf("%s: %d units of the day are not free: %+v", key, req.Charges[1].Cost, d)
		}
	}
}
