package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// settle: a lower cost gives back, never over the burst. A higher cost is debt.
func settle(r *run) {
	for _, l := range each(1000, time.Second) {
		for _, actual := range []int64{0, 1, 300, 999, 1000, 1001, 1500, 5000} {
			key := fmt.Sprint(l.Algorithm, actual)
			granted := r.reserve(key, 1000, 0, l)
			r.settle(granted, actual)
			left := max(1000-actual, 0)
			if d := r.take(charge(key, 0, l)); d.Remaining != left {
				r.Errorf("%v: 1000 of 1000 settled at %d: %d remain, want %d", l.Algorithm, actual, d.Remaining, left)
			}
			var d store.Decision
			if left < 1000 {
				d = r.take(charge(key, left+1, l))
			}
			if d.Allowed {
				r.Errorf("%v: %d settled: %d more were admitted", l.Algorithm, actual, left+1)
			}
			// A unit is refilled in a millisecond, so 500 units of debt take 500 ms more.
			want := time.Duration(max(actual-1000, 0)+1) * time.Millisecond
			if left == 0 && l.Algorithm == store.GCRA && d.RetryAfter != want {
				r.Errorf("%v: %d settled: retry after %v, want %v", l.Algorithm, actual, d.RetryAfter, want)
			}
			if d.RetryAfter > 2*time.Second && l.Algorithm != store.GCRA {
				r.Errorf("%v: %d settled: retry after %v, want a window's", l.Algorithm, actual, d.RetryAfter)
			}
			if left > 0 && !r.take(charge(key, left, l)).Allowed {
				r.Errorf("%v: %d settled: the %d left were refused", l.Algorithm, actual, left)
			}
			r.sleep(7 * time.Second)
			if d := r.take(charge(key, 0, l)); d.Remaining != 1000 || d.ResetAfter != 0 {
				r.Errorf("%v: %d settled: 7 s later %+v", l.Algorithm, actual, d)
			}
		}
	}
}

// settleAlone: without a later booking, settling is like booking the real cost at the same
// slot, for all calls after it.
func settleAlone(r *run) {
	rng := rand.New(rand.NewPCG(11, 12))
	sets := [][]store.Limit{each(10, time.Second), {store.Per(7, time.Second).WithBurst(20), store.Per(30, 2*time.Second).By(store.SlidingWindow)}}
	for _, l := range each(10, time.Second) {
		sets = append(sets, []store.Limit{l})
	}
	for i, limits := range sets {
		for round := range long.Of(12) {
			one, two := fmt.Sprint("settled ", i, " ", round), fmt.Sprint("booked ", i, " ", round)
			for range rng.IntN(4) {
				cost := 1 + rng.Int64N(2)
				r.same("before", r.reserve(one, cost, 0, limits...), r.reserve(two, cost, 0, limits...))
				r.sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
			}
			estimate, actual := 1+rng.Int64N(4), 1+rng.Int64N(4)
			// Both get the same slot only from now on.
			a, b := r.reserve(one, estimate, 0, limits...), r.reserve(two, actual, 0, limits...)
			if !a.Allowed || !b.Allowed {
				continue
			}
			r.sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
			r.settle(a, actual)
			for range 8 {
				r.same(fmt.Sprintf("%v: %d settled at %d", limits, estimate, actual), r.take(charge(one, 0, limits...)), r.take(charge(two, 0, limits...)))
				r.sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
				cost := 1 + rng.Int64N(5)
				r.same(fmt.Sprintf("%v: after %d settled at %d", limits, estimate, actual), r.reserve(one, cost, time.Hour, limits...), r.reserve(two, cost, time.Hour, limits...))
			}
		}
	}
}

// settleAhead: settling keeps a slot ahead in its place.
func settleAhead(r *run) {
	for _, l := range each(10, time.Second) {
		key := "ahead " + l.Algorithm.String()
		r.reserve(key, 10, 0, l)
		ahead := r.reserve(key, 10, time.Hour, l)
		r.settle(ahead, 4)
		next := r.reserve(key, 6, time.Hour, l)
		if next.Delay != ahead.Delay {
			r.Errorf("%v: 6 after 4 of 10 in %v are in %v", l.Algorithm, ahead.Delay, next.Delay)
		}
		r.settle(next, 6+100)
		if late := r.reserve(key, 1, time.Hour, l); late.Delay <= next.Delay {
			r.Errorf("%v: one after a debt of 100 in %v is in %v", l.Algorithm, next.Delay, late.Delay)
		}
	}
	// A slot's debt stays after the booking behind it is undone.
	for _, l := range each(10, time.Minute) {
		key := "undone " + l.Algorithm.String()
		first := r.reserve(key, 4, 0, l)
		behind := r.reserve(key, 8, time.Hour, l)
		r.settle(first, 10)
		r.settle(behind, 0)
		if d := r.take(charge(key, 1, l)); d.Allowed {
			r.Errorf("%v: admitted after a debt of all there is: %+v", l.Algorithm, d)
		}
	}
	// A slot's debt stays when others wait behind it, though the bucket is full at their slots.
	l := store.Per(1000, time.Second)
	first := r.reserve("behind", 1000, 0, l)
	r.reserve("behind", 1000, time.Hour, l)
	r.settle(first, 1500)
	if d := r.reserve("behind", 1000, time.Hour, l); d.Delay != 2500*time.Millisecond {
		r.Errorf("1000 after 1500 and 1000 of 1000 per second are in %v, want 2.5s", d.Delay)
	}
}

// settleLate: settling a lapsed or forgotten booking changes nothing for later ones.
func settleLate(r *run) {
	for _, l := range each(10, time.Second) {
		for _, how := range []string{"lapsed", "reset"} {
			for _, cancelable := range []bool{true, false} {
				key := fmt.Sprint(how, l.Algorithm, cancelable)
				var old []store.Decision
				for range 4 {
					old = append(old, r.reserve(key, 5, time.Hour, l)) // Two of them are ahead.
				}
				if _, ok := r.store.(store.Resetter); ok && how == "reset" {
					r.reset(key)
				} else {
					r.sleep(4 * time.Second)
				}
				r.sleep(time.Millisecond) // A store may take bookings of one microsecond for one booking.
				r.settle(old[0], 0)
				req := charge(key, 3, l)
				req.Cancelable = cancelable
				r.take(req)
				r.sleep(time.Millisecond)
				want := r.look(key, l)
				for i, d := range old[1:] {
					r.settle(d, int64(9*(i%2)))
					r.same(fmt.Sprintf("%v: %s, then settled", l.Algorithm, how), r.look(key, l), want)
				}
			}
		}
	}
}

// settleMistakes: wrong receipts and costs are errors.
func settleMistakes(r *run) {
	settler := r.store.(store.Settler)
	ctx := context.Background()
	if err := settler.Settle(ctx, "not a receipt", 1); err == nil {
		r.Error("a receipt that is none was taken")
	}
	limits := each(10, time.Minute)[:3]
	d := r.reserve("mistakes", 5, 0, limits...)
	want := r.take(charge("mistakes", 0, limits...))
	for name, costs := range map[string][]int64{
		"none": {}, "too few": {1, 2}, "too many": {1, 2, 3, 4}, "below 0": {-1}, "one below 0": {1, 1, -1}, "too much": {store.MaxUnits + 1},
	} {
		if err := settler.Settle(ctx, d.Receipt, costs...); !errors.Is(err, store.ErrConfig) {
			r.Errorf("costs, %s: %v, want a ConfigError", name, err)
		}
		r.same(name, r.take(charge("mistakes", 0, limits...)), want)
	}
}

// settleExtremes: the largest debt, once more, and a return after it overflow nothing.
func settleExtremes(r *run) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, l := range []store.Limit{store.Per(3, time.Second), {Rate: store.MaxUnits, Period: time.Second}, {Rate: 2, Period: store.MaxPeriod}} {
			l.Algorithm = a
			key := fmt.Sprint("extreme ", a, l)
			one, two := r.reserve(key, 1, 0, l), r.reserve(key, 1, 0, l)
			r.settle(one, store.MaxUnits)
			for range 9 {
				if d := r.reserve(key, 1, store.MaxPeriod, l); d.Allowed {
					r.settle(d, store.MaxUnits)
				}
			}
			r.settle(two, 0)
			if d := r.take(charge(key, 2, l)); d.Allowed || d.RetryAfter <= 0 || d.RetryAfter > 2*store.MaxPeriod {
				r.Errorf("%v %v: in debt: %+v", a, l, d)
			}
		}
	}
}

// settleTogether: many reservations settled at the same time end at the exact sum. A bucket
// may give back less, never more.
func settleTogether(r *run) {
	settler := r.store.(store.Settler)
	for _, l := range each(1000, time.Hour) {
		key := l.Algorithm.String()
		granted := r.together(40, func(int) store.Request {
			req := charge(key, 25, l)
			req.Cancelable = true
			return req
		})
		var sum int64
		var wg sync.WaitGroup
		for i, d := range granted {
			actual := []int64{0, 3, 24, 25, 31}[i%5]
			sum += actual
			wg.Go(func() {
				if err := settler.Settle(context.Background(), d.Receipt, actual); err != nil {
					r.Errorf("Settle: %v", err)
				}
			})
		}
		wg.Wait()
		if d := r.look(key, l); d.Remaining != 1000-sum && (l.Algorithm != store.GCRA || d.Remaining > 1000-sum || d.Remaining < 100) {
			r.Errorf("%v: 40 settled at %d together: %d of 1000 remain", l.Algorithm, sum, d.Remaining)
		}
	}
}

// settleSeveral: one cost for all limits, or one for each, of one key or several.
func settleSeveral(r *run) {
	limits := each(100, time.Hour)
	remaining := func(key string) (list []int64) {
		d := r.take(charge(key, 0, limits...))
		for i := range limits {
			list = append(list, d.Charge(i).Remaining)
		}
		return list
	}
	for name, tt := range map[string]struct {
		costs []int64
		want  string
	}{
		"one for all": {[]int64{30}, "[70 70 70 70 70]"},
		"less":        {[]int64{1, 2, 3, 4, 5}, "[99 98 97 96 95]"},
		"some":        {[]int64{0, 50, 0, 50, 60}, "[100 50 100 50 40]"},
		"others":      {[]int64{50, 0, 150, 0, 0}, "[50 100 0 100 100]"},
		"nothing":     {[]int64{0, 0, 0, 0, 0}, "[100 100 100 100 100]"},
	} {
		for _, since := range []bool{false, true} {
			key := fmt.Sprint(name, since)
			d := r.reserve(key, 50, 0, limits...)
			if since {
				r.settle(r.reserve(key, 1, 0, limits...), 0)
				// Another booking at the same slot, so that all can be given back.
				r.settle(r.reserve(key, 10, 0, limits...), 0)
			}
			r.settle(d, tt.costs...)
			if got := fmt.Sprint(remaining(key)); got != tt.want {
				r.Errorf("50 of each settled at %v, booked since: %v: %s remain, want %s", tt.costs, since, got, tt.want)
			}
		}
	}
	// A charge with a cost of 0 was not booked.
	req := charge("mixed", 5, limits...)
	req.Charges[1].Cost, req.Charges[3].Cost, req.Cancelable = 0, 0, true
	r.settle(r.take(req), 20)
	if got, want := fmt.Sprint(remaining("mixed")), "[80 100 80 100 80]"; got != want {
		r.Errorf("some of a cost of 0, settled at 20: %s remain, want %s", got, want)
	}
	if !r.takesKeys("a", "b") {
		return
	}
	req = charges(store.Charge{Key: "a", Limit: limits[0]}, store.Charge{Key: "b", Limit: limits[1]}, store.Charge{Key: "a", Limit: limits[3]})
	req.Cancelable = true
	r.settle(r.take(req), 7, 8, 9)
	a := r.take(charge("a", 0, limits[0], limits[3]))
	b := r.take(charge("b", 0, limits[1]))
	if a.Charge(0).Remaining != 93 || a.Charge(1).Remaining != 91 || b.Remaining != 92 {
		r.Errorf("two keys settled at 7, 8 and 9: %+v, %+v", a, b)
	}
}
