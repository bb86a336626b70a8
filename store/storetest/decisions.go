package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// concurrency: as many as fit are admitted, whoever comes at the same instant.
func concurrency(r *run) {
	for _, l := range each(100, time.Hour) {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				if d := r.take(charge(l.Algorithm.String(), 1, l)); d.Allowed {
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n != 100 {
			r.Errorf("%v: 500 calls at one instant on 100: %d admitted", l.Algorithm, n)
		}
	}
}

// refusals: a refused call changes nothing, so who polls gets the full rate.
func refusals(r *run) {
	for _, l := range each(5, time.Second) {
		key := l.Algorithm.String()
		for range 5 {
			r.take(charge(key, 1, l))
		}
		before := r.take(charge(key, 0, l))
		for range 20 {
			if d := r.take(charge(key, 1, l)); d.Allowed || d.Reason != weir.Limited || d.RetryAfter <= 0 {
				r.Fatalf("%v: sixth of five: %+v", l.Algorithm, d)
			}
		}
		if after := r.take(charge(key, 0, l)); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			r.Errorf("%v: refusals changed %+v into %+v", l.Algorithm, before, after)
		}
	}
	// Polling at twice the rate admits every second call for ever.
	for _, l := range each(1, 10*time.Second) {
		key := "poll " + l.Algorithm.String()
		for !r.take(charge(key, 1, l)).Allowed {
			r.sleep(time.Second)
		}
		admitted := 0
		for range 40 {
			r.sleep(5 * time.Second)
			if r.take(charge(key, 1, l)).Allowed {
				admitted++
			}
		}
		// The estimate of a sliding window of one unit weighs it for two windows.
		if admitted != 20 && (l.Algorithm != weir.SlidingCounter || admitted < 10) {
			r.Errorf("%v: polling every 5 s on 1 per 10 s admitted %d in 200 s, want 20", l.Algorithm, admitted)
		}
	}
}

// retryAfter: waiting exactly RetryAfter succeeds, a microsecond less does not.
func retryAfter(r *run) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		l := randomLimit(rng)
		key := fmt.Sprint("retry ", i)
		refused := 0
		for range 3*l.Max() + 10 {
			cost := 1 + rng.Int64N(l.Max())
			if rng.IntN(2) == 0 {
				cost = 1
			}
			d := r.take(charge(key, cost, l))
			if d.Allowed {
				continue
			}
			if d.RetryAfter < time.Microsecond || d.RetryAfter > 2*l.Period+time.Duration(float64(l.Max())/float64(l.Rate)*float64(l.Period))+time.Microsecond {
				r.Fatalf("%v %v burst %d: retry after %v", l.Algorithm, l, l.Burst, d.RetryAfter)
			}
			r.sleep(d.RetryAfter - time.Microsecond)
			if d := r.take(charge(key, cost, l)); d.Allowed {
				// Rounding up may have added the last microsecond.
				if l.Algorithm != weir.GCRA {
					r.Errorf("%v %v: admitted 1µs before RetryAfter", l.Algorithm, l)
				}
				continue
			}
			r.sleep(time.Microsecond)
			if d := r.take(charge(key, cost, l)); !d.Allowed {
				r.Errorf("%v %v burst %d, cost %d: refused after exactly RetryAfter: %+v", l.Algorithm, l, l.Burst, cost, d)
			}
			if refused++; refused == 3 {
				break
			}
		}
	}
}

// remaining: Remaining is what the next calls can take, no less and no more.
func remaining(r *run) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		l := randomLimit(rng)
		key := fmt.Sprint("remaining ", i)
		r.sleep(time.Duration(rng.Int64N(int64(l.Period)/1000+1)) * time.Microsecond)
		d := r.take(charge(key, 1+rng.Int64N(l.Max()), l))
		r.sleep(time.Duration(rng.Int64N(int64(l.Period)/1000+1)) * time.Microsecond)
		d = r.take(charge(key, 0, l))
		for left := d.Remaining; left > 0; left-- {
			if d = r.take(charge(key, 1, l)); !d.Allowed || d.Remaining != left-1 {
				r.Fatalf("%v %v: with %d remaining: %+v", l.Algorithm, l, left, d)
			}
		}
		if d = r.take(charge(key, 1, l)); d.Allowed {
			r.Errorf("%v %v: admitted with none remaining", l.Algorithm, l)
		}
		r.sleep(d.ResetAfter)
		if d = r.take(charge(key, 0, l)); d.Remaining != l.Max() || d.ResetAfter != 0 {
			r.Errorf("%v %v: after ResetAfter: remaining %d of %d, reset after %v", l.Algorithm, l, d.Remaining, l.Max(), d.ResetAfter)
		}
	}
}

// first: after the first of n, n-1 remain, at any rate and date.
func first(r *run) {
	dates := []time.Duration{0, 26*365*24*time.Hour + 123457*time.Microsecond, 74*365*24*time.Hour + 7*time.Microsecond}
	for _, wait := range dates {
		r.sleep(wait)
		for _, period := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
			for n := int64(1); n <= 1000; n += 1 + n/17 {
				l := weir.Per(n, period)
				if d := r.take(charge(fmt.Sprint(wait, l), 1, l)); !d.Allowed || d.Remaining != n-1 {
					r.Fatalf("%v: first call: %+v", l, d)
				}
			}
		}
	}
}

// drift: at odd rates nothing is lost or gained over many decisions.
func drift(r *run) {
	for _, l := range []weir.Limit{
		weir.Per(3, time.Second), weir.Per(7, 3*time.Second), weir.Per(1_000_000, 24*time.Hour),
		weir.Per(100_000_000, time.Second), weir.Per(1, 365*24*time.Hour), weir.Per(3, time.Second).WithBurst(1),
	} {
		key := fmt.Sprint("drift ", l, l.Burst)
		n := int64(300)
		if l.Period > 24*time.Hour {
			n = 10
		}
		// The whole burst, then n calls that each wait for the one before.
		r.take(charge(key, l.Max(), l))
		cost := max(l.Rate/1_000_000, 1) // at 10⁸ per second 100 units a microsecond
		for i := int64(1); i <= n; i++ {
			d := r.reserve(key, cost, weir.MaxPeriod, l)
			// i·cost·Period/Rate, rounded up, in two steps that can't overflow.
			units := i * cost
			want := time.Duration(units/l.Rate) * l.Period
			want += time.Duration(math.Ceil(float64(units%l.Rate)*float64(l.Period/time.Microsecond)/float64(l.Rate))) * time.Microsecond
			if d.Delay != want {
				r.Fatalf("%v: after %d units a delay of %v, want %v", l, units, d.Delay, want)
			}
		}
	}
}

// never: what can't fit is refused for good, and says so.
func never(r *run) {
	for _, l := range each(5, time.Second) {
		key := "never " + l.Algorithm.String()
		for _, req := range []weir.Request{charge(key, 6, l), charge(key, weir.MaxUnits*64, l), {Charges: charge(key, 6, l).Charges, MaxWait: time.Hour}} {
			if d := r.take(req); d.Allowed || d.Reason != weir.NeverFits || d.RetryAfter != weir.Never || d.Remaining != 5 {
				r.Errorf("%v: six of five: %+v", l.Algorithm, d)
			}
		}
	}
}

// mistakes: a wrong request is a configuration error and takes nothing.
func mistakes(r *run) {
	ok := weir.PerSecond(5)
	for name, req := range map[string]weir.Request{
		"no charges":     {},
		"a rate of zero": charge("k", 1, weir.Limit{Period: time.Second}),
		"negative cost":  charge("k", -1, ok),
		"negative wait":  {Charges: charge("k", 1, ok).Charges, MaxWait: -1},
		"one of two":     charge("k", 1, ok, weir.Limit{Rate: 1}),
	} {
		if d, err := r.store.Take(context.Background(), req); !errors.Is(err, weir.ErrConfig) {
			r.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := r.store.Take(ctx, charge("k", 1, ok)); !errors.Is(err, context.Canceled) {
		r.Errorf("a context that is over: %+v, %v", d, err)
	}
	if d := r.take(charge("k", 0, ok)); d.Remaining != 5 {
		r.Errorf("mistakes took: %+v", d)
	}
}
