package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// settled is an admitted call, and its real cost.
type settled struct {
	at, cost  int64
	one, twin any // receipts
}

// leastReset returns how long after now a bucket is full at the earliest, given its calls.
func leastReset(l store.Limit, calls []*settled, now int64) time.Duration {
	tat := int64(0) // since the first call, in µs / Rate
	for _, c := range calls {
		tat = max(tat, (c.at-calls[0].at)*l.Rate) + c.cost*l.Period.Microseconds()
	}
	return time.Duration(tat/l.Rate-(now-calls[0].at)) * time.Microsecond
}

// TestReceiptsOfBatches: calls that are decided together are settled as if each had been
// decided alone, in any order, at any costs. A bucket gives back as much, or more, and never
// more than the call took from later ones.
func TestReceiptsOfBatches(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	for seed := range long.Of(long.Or(4000, 400)) {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		together, sleep := newStill(t, c, fmt.Sprint("a", seed, ":"))
		sequence, sleepToo := newStill(t, c, fmt.Sprint("b", seed, ":"))
		var limits []store.Limit
		for range 1 + rng.IntN(2) {
			l := store.Per(1+rng.Int64N(20), time.Duration(1+rng.Int64N(5_000_000))*time.Microsecond).By(store.Algorithm(rng.IntN(5)))
			if l.Algorithm == store.GCRA {
				l.Burst = 1 + rng.Int64N(20)
			}
			limits = append(limits, l)
		}
		var all, open []*settled
		for round, same := 0, true; round < 8 && same; round++ {
			d := time.Duration(rng.Int64N(limits[0].Period.Microseconds())) * time.Microsecond / time.Duration(1+rng.IntN(20))
			sleep(d)
			sleepToo(d)
			reqs := make([]store.Request, 1+rng.IntN(8))
			cost := min(1+rng.Int64N(2), limits[0].Max(), limits[len(limits)-1].Max())
			for i := range reqs {
				reqs[i] = charge("key", cost, limits...)
				reqs[i].Cancelable = rng.IntN(4) > 0
			}
			got, errs := batch(together, reqs)
			for i := range reqs {
				want := single(t, sequence, reqs[i])
				if diff := differ(got[i], want); diff != "" || errs[i] != nil {
					t.Fatalf("seed %d, %v, round %d, call %d: %v %s", seed, limits, round, i, errs[i], diff)
				}
				if want.Allowed {
					all = append(all, &settled{int64(want.At), cost, got[i].Receipt, want.Receipt})
				}
				if want.Receipt != nil {
					open = append(open, all[len(all)-1])
				}
			}
			for n := rng.IntN(4); n > 0 && len(open) > 0 && same; n-- {
				i := rng.IntN(len(open))
				of := open[i]
				of.cost, open = max(rng.Int64N(5)-1, 0), slices.Delete(open, i, i+1)
				if err := errors.Join(together.Settle(t.Context(), of.one, of.cost), sequence.Settle(t.Context(), of.twin, of.cost)); err != nil {
					t.Fatal(err)
				}
				got, want := single(t, together, charge("key", 0, limits...)), single(t, sequence, charge("key", 0, limits...))
				for i, l := range limits {
					g, w := got.Charge(i), want.Charge(i)
					switch {
					case l.Algorithm == store.SlidingWindow:
						g.ResetAfter, w.ResetAfter = 0, 0 // Of two entries that become empty, a log keeps the first.
					case l.Algorithm == store.GCRA && g.ResetAfter < w.ResetAfter && g.ResetAfter >= leastReset(l, all, int64(got.At)):
						same = false
						continue
					}
					if g != w {
						t.Fatalf("seed %d, %v, round %d, settled at %d: %+v, want %+v", seed, limits, round, of.cost, g, w)
					}
				}
			}
		}
	}
}

// TestWaitsShareRoundTrips: calls that may wait and find room share round trips. All can be
// given back.
func TestWaitsShareRoundTrips(t *testing.T) {
	t.Parallel()
	for _, limit := range every(1000, time.Hour) {
		t.Run(limit.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			s, g := gated(t)
			wait := charge("key", 1, limit)
			waitLong(&wait)
			take(t, s, wait)
			g.commands.Store(0)
			_, open := g.shut()
			defer open()
			var wg sync.WaitGroup
			receipts := make([]any, 50)
			for i := range receipts {
				wg.Go(func() {
					d, err := s.Take(context.Background(), wait)
					if err != nil || !d.Allowed || d.Delay > 0 || d.Receipt == nil {
						t.Errorf("%+v, %v", d, err)
					}
					receipts[i] = d.Receipt
				})
				if i == 0 {
					g.hold(t, 1)
				}
			}
			open()
			wg.Wait()
			if n := g.commands.Load(); n > 25 { // The machine decides which calls come while the first is held up.
				t.Errorf("%d calls took %d commands", len(receipts), n)
			}
			for _, r := range receipts {
				if err := s.Cancel(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
			if d := take(t, s, charge("key", 0, limit)); d.Remaining != limit.Max()-1 {
				t.Errorf("%d of %d remaining after all but one are given back", d.Remaining, limit.Max())
			}
		})
	}
}

// TestSentCallGetsItsReceipt: a caller that leaves waits for the receipt of a sent call, as its
// units can't be given back without. It leaves an unsent call, and one without a receipt.
func TestSentCallGetsItsReceipt(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	let, open := g.shut()
	defer open()
	limit := store.Per(10, time.Hour)
	req := charge("key", 1, limit)
	key, limits := keys.Of(&req.Charges[0]), s.limits.of(req.Charges)
	start := func(cancelable bool) combine.Pending[keys.Key, call] {
		return s.queues.first.Start(t.Context(), key, call{limits: limits, cancelable: cancelable})
	}
	first := start(true)
	g.hold(t, 1)
	second, plain := start(true), start(false)
	let()
	<-first.Done()
	g.hold(t, 1)
	unsent := start(true)
	for i, test := range []struct {
		call combine.Pending[keys.Key, call]
		left bool
	}{{second, false}, {plain, true}, {unsent, true}} {
		if left, _ := test.call.Leave(); left != test.left {
			t.Fatalf("call %d left: %t, want %t", i, left, test.left)
		}
	}
	open()
	<-second.Done()
	for _, c := range []combine.Pending[keys.Key, call]{first, second} {
		if done, err := c.Result(); err != nil || done.err != nil || done.answer.receipt == nil {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if d := take(t, s, charge("key", 0, limit)); d.Remaining != 7 {
		t.Errorf("%d remaining, want 7", d.Remaining)
	}
}
