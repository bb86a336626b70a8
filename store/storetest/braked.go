package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
)

// braked: however often a key is paused while callers wait, those who act stay
// within the limit: of slots that were booked ahead, who has one within 100 ms uses
// it, and the others are void.
func braked(r *run) {
	if r.braker() == nil {
		return
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for i := range long.Of(60) {
			r.brakeAtRandom(rng, fmt.Sprint("braked ", a, i), store.Per(1+rng.Int64N(8), time.Duration(1+rng.IntN(20))*100*time.Millisecond).By(a))
		}
	}
}

func (r *run) brakeAtRandom(rng *rand.Rand, key string, l store.Limit) {
	var acts []act
	var now, paused int64
	sleep := func(d int64) {
		r.sleep(time.Duration(d) * time.Microsecond)
		now += d
	}
	sleep(1_000_000 * rng.Int64N(3))
	var start int64
	for range 80 {
		sleep(rng.Int64N(l.Period.Microseconds() / 3))
		if rng.IntN(8) == 0 {
			paused = max(paused, now) + 1 + rng.Int64N(1000)
			r.brake(key, store.Brake{Pause: time.Duration(paused-now) * time.Microsecond}, l)
			for len(acts) > 0 && acts[len(acts)-1].at > now+100_000 {
				acts = acts[:len(acts)-1]
			}
			sleep(1)
			continue
		}
		req := charge(key, 1+rng.Int64N(l.Rate), l)
		if rng.IntN(3) > 0 {
			req.MaxWait = time.Duration(rng.Int64N(int64(5 * l.Period)))
		}
		d := r.take(req)
		if start = int64(d.At) - now; d.Allowed {
			acts = append(acts, act{now + d.Delay.Microseconds(), req.Charges[0].Cost})
		}
	}
	if !conforms(l, acts) || !counts(l, acts, start) {
		r.Errorf("%s, %v: what was used exceeds the limit: %v", key, l, acts)
	}
}

// counts reports whether acts stay within what aligned windows and sliding counters
// admit, for those that are; start is when their time began.
func counts(l store.Limit, acts []act, start int64) bool {
	if l.Algorithm != store.AlignedWindow && l.Algorithm != store.SlidingCounter {
		return true
	}
	p := l.Period.Microseconds()
	var window, cur, prev int64
	for _, a := range acts {
		switch at := (start + a.at) / p; at - window {
		case 0:
		case 1:
			window, cur, prev = at, 0, cur
		default:
			window, cur, prev = at, 0, 0
		}
		cur += a.cost
		weighs := l.Algorithm == store.SlidingCounter
		if cur > l.Rate || weighs && prev*(p-(start+a.at)%p)+cur*p > l.Rate*p {
			return false
		}
	}
	return true
}
