package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestStoresAgree sends the same random calls, waits, cancels, settled costs and
// changes of limits to the script and to localstore: every decision must be the same, to
// the microsecond.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	_, client := miniClient(t)
	for seed := range uint64(long.Of(150)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				remote, sleep := newStill(t, client, fmt.Sprintf("seed%d:", seed))
				agree(t, rand.New(rand.NewPCG(seed, 1)), local, remote, func(d time.Duration) {
					time.Sleep(d)
					sleep(d)
				})
			})
		})
	}
}

// pair is a booking as both stores granted it.
type pair struct{ local, remote any }

func agree(t *testing.T, rng *rand.Rand, local *localstore.Store, remote *Store, sleep func(time.Duration)) {
	ctx := context.Background()
	period := time.Duration(1+rng.IntN(20)) * 100 * time.Millisecond
	limits := make([]store.Limit, 1+rng.IntN(3))
	draw := func() {
		for i := range limits {
			limits[i] = store.Per(1+rng.Int64N(12), period*time.Duration(1+rng.IntN(5))).By(store.Algorithm(rng.IntN(5)))
			if limits[i].Algorithm == store.GCRA {
				limits[i].Burst = 1 + rng.Int64N(12)
			}
		}
	}
	draw()
	var granted []pair
	var story []string
	changes, brakes := rng.IntN(2) == 0, rng.IntN(2) == 0
	var last store.Instant
	for step := range 150 {
		switch what := rng.IntN(20); {
		case what < 6:
			d := time.Duration(rng.Int64N(int64(period)/1000)) * time.Microsecond
			story = append(story, fmt.Sprint("sleep ", d))
			sleep(d)
			continue
		case what < 9 && len(granted) > 0:
			i := rng.IntN(len(granted))
			if what < 8 {
				i = len(granted) - 1
			}
			if rng.IntN(3) == 0 {
				story = append(story, fmt.Sprint("cancel ", i))
				if err := errors.Join(local.Cancel(ctx, granted[i].local), remote.Cancel(ctx, granted[i].remote)); err != nil {
					t.Fatal(err)
				}
			} else {
				real := realCosts(rng, len(limits))
				story = append(story, fmt.Sprint("settle ", i, " at ", real))
				if err := errors.Join(local.Settle(ctx, granted[i].local, real...), remote.Settle(ctx, granted[i].remote, real...)); err != nil {
					t.Fatal(err)
				}
			}
			granted = append(granted[:i], granted[i+1:]...)
			continue
		case what == 10 && brakes:
			b := drawBrake(rng, period, last)
			story = append(story, fmt.Sprintf("brake %+v", b))
			charges := charge("key", 0, limits...).Charges
			if err := local.Brake(ctx, charges, b); err != nil {
				t.Fatal(err)
			}
			if err := remote.Brake(ctx, charges, b); err != nil {
				t.Fatal(err)
			}
			// What was granted may be void. Giving it back is tried elsewhere.
			granted = nil
			continue
		case what == 9 && changes:
			// What is still to come keeps its slot only while the limits last.
			sleep(time.Minute)
			draw()
			granted = nil
			sleepless := rng.IntN(2) == 0
			story = append(story, fmt.Sprint("limits ", limits, sleepless))
			continue
		}
		req := charge("key", rng.Int64N(5), limits...)
		if rng.IntN(3) > 0 {
			req.MaxWait = time.Duration(rng.Int64N(int64(3 * period)))
			req.Cancelable = rng.IntN(4) > 0
		}
		leaves := rng.IntN(8) == 0
		for i := range req.Charges {
			if rng.IntN(6) == 0 {
				req.Charges[i].Cost = rng.Int64N(4)
			}
			if leaves {
				req.Charges[i].Reserve = rng.Int64N(6)
			}
		}
		a, err := local.Take(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := remote.Take(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		story = append(story, fmt.Sprintf("take %v within %v: %v %v, %v", costs(req), req.MaxWait, a.Allowed, a.Delay, a.Receipt != nil))
		last = a.At
		if a.Receipt != nil && b.Receipt != nil {
			granted = append(granted, pair{a.Receipt, b.Receipt})
		}
		if diff := differ(a, b); diff != "" {
			t.Fatalf("step %d, %v %+v: %s\nlocal  %+v\nremote %+v\n%q", step, algorithms(limits), req, diff, a, b, story[max(0, len(story)-12):])
		}
	}
}

func drawBrake(rng *rand.Rand, period time.Duration, last store.Instant) (b store.Brake) {
	some := func() time.Duration { return time.Duration(rng.Int64N(int64(2*period))/1000) * time.Microsecond }
	switch rng.IntN(5) {
	case 0:
		b.Lift = true
	case 1, 2:
		b.Pause = some()
	case 3:
		b.Cut = store.Cut{Unit: some(), Recovery: 3 * some(), Since: max(last-store.Instant(rng.IntN(1000)), 0)}
	case 4:
		b.Tell, b.Gap, b.GapFor = true, some()/4, some()
	}
	return b
}

// realCosts are those of a booking of so many charges, mostly one for all.
func realCosts(rng *rand.Rand, charges int) []int64 {
	draw := func() int64 {
		if rng.IntN(40) == 0 {
			return store.MaxUnits
		}
		return rng.Int64N([]int64{4, 4, 10, 40}[rng.IntN(4)])
	}
	if rng.IntN(3) > 0 {
		return []int64{draw()}
	}
	list := make([]int64, charges)
	for i := range list {
		list[i] = draw()
	}
	return list
}

func costs(req store.Request) (list []int64) {
	for i := range req.Charges {
		list = append(list, req.Charges[i].Cost)
	}
	return list
}

// differ says where two decisions are not the same; durations may be a
// microsecond apart.
func differ(a, b store.Decision) string {
	near := func(x, y time.Duration) bool { return max(x-y, y-x) <= time.Microsecond }
	switch {
	case a.At != b.At || a.BrakedAt != b.BrakedAt || a.Gap != b.Gap || a.Told != b.Told:
		return "at, braked at or gap"
	case a.Allowed != b.Allowed || a.Reason != b.Reason:
		return "allowed"
	case a.Scope != b.Scope || a.Limit != b.Limit:
		return "the binding limit"
	case !near(a.Delay, b.Delay) || !near(a.RetryAfter, b.RetryAfter):
		return "delay or retry after"
	case len(a.Charges) != len(b.Charges) || (a.Receipt == nil) != (b.Receipt == nil):
		return "charges or receipt"
	}
	for i := range max(len(a.Charges), 1) {
		x, y := a.Charge(i), b.Charge(i)
		if x.Remaining != y.Remaining || !near(x.ResetAfter, y.ResetAfter) || !near(x.RetryAfter, y.RetryAfter) {
			return fmt.Sprint("charge ", i)
		}
	}
	return ""
}

// TestLeaseUnderABrake: both stores tell a call that asks for nothing but a lease the
// same of a key that is slowed down.
func TestLeaseUnderABrake(t *testing.T) {
	_, client := miniClient(t)
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		remote, sleep := newStill(t, client, "")
		limit := store.Per(10, time.Second)
		for i, b := range []store.Brake{
			{Tell: true, Gap: time.Second, GapFor: 3 * time.Second},
			{Pause: 2 * time.Second, Cut: store.Cut{Unit: 100 * time.Millisecond, Recovery: 10 * time.Second}},
			{Pause: 2 * time.Second, Tell: true, Gap: time.Second, GapFor: time.Second},
		} {
			key := fmt.Sprint(i)
			for _, s := range []store.Store{local, remote} {
				if err := s.(store.Braker).Brake(t.Context(), charge(key, 0, limit).Charges, b); err != nil {
					t.Fatal(err)
				}
				take(t, s, charge(key, 1, limit))
			}
			for call := range 8 {
				req := charge(key, int64(call%3/2), limit) // the third has no room, nor have those after it
				req.Hold = store.Hold{Max: 2, ID: fmt.Sprint("id", call), Lease: time.Hour}
				if a, b := take(t, local, req), take(t, remote, req); differ(a, b) != "" {
					t.Errorf("brake %d, call %d: %s\nlocal  %+v\nremote %+v", i, call, differ(a, b), a, b)
				}
				time.Sleep(500 * time.Millisecond)
				sleep(500 * time.Millisecond)
			}
		}
	})
}

func algorithms(limits []store.Limit) (list []string) {
	for _, l := range limits {
		list = append(list, fmt.Sprint(l.Algorithm, " ", l, " burst ", l.Burst))
	}
	return list
}
