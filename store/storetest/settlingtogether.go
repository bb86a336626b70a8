package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// settleTogether: many reservations that are settled at the same time end at the exact
// sum. A bucket may give back less, never more.
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

// settleSeveral: one cost for all limits, or one for each, of one key or more.
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
				// An equal slot, so that all can be given back.
				r.settle(r.reserve(key, 10, 0, limits...), 0)
			}
			r.settle(d, tt.costs...)
			if got := fmt.Sprint(remaining(key)); got != tt.want {
				r.Errorf("50 of each settled at %v, booked since: %v: %s remain, want %s", tt.costs, since, got, tt.want)
			}
		}
	}
	// What cost nothing was not booked.
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
