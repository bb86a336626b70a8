package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// releases: two releases of a program use one key with different limits in turn. Together
// they admit at most the wider limit, now or ahead, in order. Slots stay booked.
func releases(r *run) {
	rng := rand.New(rand.NewPCG(21, 22))
	pairs(func(name string, a, b store.Algorithm) {
		for i := range max(long.Of(24), 4) {
			wide := store.Per(2+rng.Int64N(20), time.Duration(1+rng.IntN(2000))*time.Millisecond).By(a)
			narrow := wide.By(b)
			switch i % 4 {
			case 0: // a lower rate
				narrow.Rate = 1 + rng.Int64N(wide.Rate)
			case 1: // a longer period: a margin
				narrow.Period += time.Duration(rng.Int64N(int64(wide.Period) / 10)).Truncate(time.Microsecond)
			case 2: // a shorter period, in proportion
				narrow.Rate = max(wide.Rate/2, 1)
				narrow.Period = (wide.Period / time.Duration(wide.Rate) * time.Duration(narrow.Rate+1)).Truncate(time.Microsecond)
			}
			sets := [2][]store.Limit{{wide}, {narrow}}
			if i%4 == 3 { // an added limit
				sets[1] = []store.Limit{wide, store.Per(3*wide.Rate, 5*wide.Period).By(b)}
				narrow = wide
			}
			r.inTurn(rng, fmt.Sprint("releases ", name, " ", i), wide, narrow, sets)
		}
	})
}

// inTurn makes calls of two releases. One has the wider limit.
func (r *run) inTurn(rng *rand.Rand, key string, wide, narrow store.Limit, sets [2][]store.Limit) {
	var acts []act
	var told []string
	waits := rng.IntN(2) == 0
	for range long.Or(60, 30) {
		if rng.IntN(2) == 0 {
			r.sleep(time.Duration(rng.Int64N(int64(wide.Period)/2)) / 1000 * time.Microsecond)
		}
		which := rng.IntN(2)
		req := charge(key, 1+rng.Int64N(min(narrow.Max(), wide.Max(), 3)), sets[which]...)
		if waits && rng.IntN(3) > 0 {
			req.MaxWait = time.Hour
		}
		d := r.take(req)
		if !d.Allowed {
			continue
		}
		a := act{int64(d.At) + d.Delay.Microseconds(), req.Charges[0].Cost}
		if n := len(acts); n > 0 && a.at < acts[n-1].at {
			r.Fatalf("%s, %v: %v overtakes %v", key, describe(append(sets[0], sets[1]...)), a, acts[n-1])
		}
		acts = append(acts, a)
		told = append(told, fmt.Sprintf("%v of %d under %v: %d, slot %d", d.At, a.cost, describe(sets[which]), a.at, d.Slot))
	}
	if !together(wide, narrow, acts) {
		r.Fatalf("%s: %v are together exceeded by\n%v", key, describe(append(sets[0], sets[1]...)), strings.Join(told, "\n"))
	}
}

// together reports whether acts stay within the wider of two limits:
//
//	limits                           may admit
//	of one algorithm and period      exactly the wider
//	two buckets                      exactly the wider
//	others                           a burst of each: a limit left out for its period is fresh
//	windows with a beginning, too    one burst more, between the end of one and the next
func together(wide, narrow store.Limit, acts []act) bool {
	burst := wide.Max() + narrow.Max()
	switch {
	case wide.Algorithm == narrow.Algorithm && (wide.Period == narrow.Period || wide.Algorithm == store.GCRA):
		return conforms(wide, acts)
	case max(wide.Algorithm, narrow.Algorithm) > store.SlidingWindow:
		return within(acts, min(wide.Period, narrow.Period).Microseconds(), burst+wide.Max())
	}
	return conforms(wide.By(store.GCRA).WithBurst(burst), acts)
}
