package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// mishaps is a random story of processes and one primary, in the time of a bubble.
type mishaps struct {
	t       testing.TB
	rng     *rand.Rand
	p       *primary
	ask     func(cost int64) store.Request
	stores  []*fallback.Store
	outages int
	away    bool
	lost    bool // the primary has lost its memory
	units   int64
	brim    bool // more units than the limit were admitted
	open    []granted
	text    strings.Builder
}

// granted is a grant that may be corrected: by the primary, or by a store in an outage.
type granted struct {
	by      *fallback.Store
	receipt any
	cost    int64
	outage  int // 0: by the primary
}

func (f *mishaps) say(format string, args ...any) { fmt.Fprintf(&f.text, format+"; ", args...) }

func (f *mishaps) any() *fallback.Store { return f.stores[f.rng.IntN(len(f.stores))] }

// turn makes the primary go or return. All processes notice.
func (f *mishaps) turn(away bool) {
	if f.away = away; !away {
		f.say("back")
		f.p.set(nil, 0)
		time.Sleep(3 * time.Second)
		return
	}
	f.say("away")
	f.outages++
	f.p.set(errAway, 0)
	for _, s := range f.stores {
		take(f.t, s, charge("another", 1, store.Per(1000, time.Second)))
	}
}

func (f *mishaps) take(cost int64) {
	s, req := f.any(), f.ask(cost)
	req.Cancelable = f.rng.IntN(2) == 0
	d := take(f.t, s, req)
	f.say("%d: %v", cost, d.Allowed)
	if !d.Allowed {
		return
	}
	if f.units += cost; d.Receipt != nil && cost > 0 && d.Degraded == f.away {
		g := granted{by: s, receipt: d.Receipt, cost: cost}
		if f.away {
			g.outage = f.outages
		}
		f.open = append(f.open, g)
	}
}

// correct gives units of a grant back, if the store that granted it can still be told.
func (f *mishaps) correct() {
	i := f.rng.IntN(len(f.open))
	g := f.open[i]
	f.open = append(f.open[:i:i], f.open[i+1:]...)
	if f.away != (g.outage > 0) || f.away && g.outage != f.outages {
		return
	}
	to := f.rng.Int64N(g.cost + 1)
	f.say("a grant of %d becomes %d", g.cost, to)
	var err error
	if to == 0 {
		err = g.by.Cancel(context.Background(), g.receipt)
	} else {
		err = g.by.Settle(context.Background(), g.receipt, to)
	}
	if err != nil {
		f.t.Error(err)
	}
	f.units += to - g.cost
}

// failOne makes one call fail, of the key or of another one.
func (f *mishaps) failOne(mine bool) {
	f.p.set(errBroken, 0)
	if mine {
		f.say("a call fails")
		if cost := f.rng.Int64N(8); take(f.t, f.any(), f.ask(cost)).Allowed {
			f.units += cost
		}
	} else {
		take(f.t, f.any(), charge("another", 1, store.Per(1000, time.Second)))
	}
	f.p.set(nil, 0)
}

// burst makes calls at once, while the primary answers slowly and may come or go.
func (f *mishaps) burst(turns bool) {
	f.say("a burst")
	_, _, err := f.p.now()
	f.p.set(err, time.Duration(f.rng.IntN(3))*9*time.Millisecond)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 1 + f.rng.IntN(6) {
		s, cost := f.any(), f.rng.Int64N(6)
		wg.Go(func() {
			if take(f.t, s, f.ask(cost)).Allowed {
				admitted.Add(cost)
			}
		})
	}
	if turns {
		time.Sleep(time.Duration(f.rng.IntN(20)) * time.Millisecond)
		f.turn(!f.away)
	}
	wg.Wait()
	f.units += admitted.Load()
	f.turn(f.away)
}

func (f *mishaps) step(losses bool) {
	time.Sleep(time.Duration(10+f.rng.IntN(5)) * time.Millisecond)
	f.brim = f.brim || f.units > 100
	switch n := f.rng.IntN(20); {
	case n < 8:
		f.take(f.rng.Int64N([]int64{15, 15, 110}[f.rng.IntN(3)]))
	case n < 11 && len(f.open) > 0 && !losses:
		f.correct()
	case n == 11 && !f.away && !losses:
		time.Sleep(200 * time.Millisecond) // Failed calls are reported.
		f.say("reset")
		f.units, f.open = 0, nil
		for _, c := range f.ask(0).Charges {
			if err := f.any().Reset(context.Background(), c.Scope, c.Key); err != nil {
				f.t.Error(err)
			}
		}
	case n < 14:
		f.turn(!f.away)
	case n < 16 && !f.away:
		f.failOne(n == 14)
	case n == 16 && losses:
		f.say("lost")
		f.lost = true
		f.p.forget(f.t)
	case n == 17 && len(f.stores) < 5:
		f.say("a process starts")
		f.stores = append(f.stores, open(f.t, fallback.Config{Primary: f.p, Replicas: 3}))
		f.turn(f.away)
	case n == 18:
		f.burst(f.rng.IntN(3) == 0)
	case n == 19:
		time.Sleep(time.Duration(f.rng.IntN(5000)) * time.Millisecond)
	}
}

// Random stories take, correct and reset units of one or two keys, with faults of every
// kind, in 1 to 5 processes. At the end the primary counts each unit once.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	for n := range long.Or(2000, 40) {
		for _, l := range every(100, 100*24*time.Hour) {
			for _, losses := range []bool{false, true} {
				f := &mishaps{rng: rand.New(rand.NewPCG(uint64(n), 1))}
				processes := []int{1, 3}[n%2]
				wide := store.Per(150, 200*24*time.Hour).By(store.Algorithm(n / 2 % 5))
				f.ask = func(cost int64) store.Request {
					req := charge("k", cost, l, wide)
					if n%3 == 0 {
						req.Charges[1].Scope, req.Charges[1].Key = "org", "o"
					}
					return req
				}
				var used int64
				synctest.Test(t, func(t *testing.T) {
					f.t, f.p = t, newPrimary(t)
					time.Sleep(24 * time.Hour) // No aligned window ends in the story.
					for range processes {
						s := open(t, fallback.Config{Primary: f.p, Replicas: processes})
						meet(t, s)
						f.stores = append(f.stores, s)
					}
					for range 10 + f.rng.IntN(30) {
						f.step(losses)
					}
					f.turn(false)
					for _, s := range f.stores {
						if take(t, s, f.ask(0)).Degraded {
							t.Error("the primary does not decide at the end")
						}
					}
					d := take(t, f.p.store, f.ask(0))
					used = 100 - d.Charge(0).Remaining
					time.Sleep(time.Second) // The stores restore in the background.
				})
				most, least := min(f.units, 100), min(f.units, 100)
				if l.Algorithm == store.GCRA {
					least -= 2 // Time frees units.
				}
				if f.brim || f.lost && processes > 1 { // Nobody knows all units.
					least = 0
				}
				if used > most || used < least {
					t.Errorf("story %d, %v: the primary counts %d units as used, want %d to %d: %s", n, l.Algorithm, used, least, most, f.text.String())
				}
			}
		}
	}
}
