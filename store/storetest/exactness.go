package storetest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// retryAfter: waiting exactly RetryAfter succeeds. A microsecond less does not.
func retryAfter(r *run) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range long.Of(400) {
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
			if e := r.take(charge(key, cost, l)); e.Allowed {
				r.Fatalf("%v %v burst %d, cost %d: admitted 1µs before RetryAfter: %+v", l.Algorithm, l, l.Burst, cost, d)
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

// remaining: exactly Remaining units are free now, and all of them after ResetAfter.
func remaining(r *run) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range long.Of(200) {
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
		if d.ResetAfter < time.Microsecond {
			r.Fatalf("%v %v: none remaining: %+v", l.Algorithm, l, d)
		}
		r.sleep(d.ResetAfter - time.Microsecond)
		if e := r.take(charge(key, 0, l)); e.ResetAfter != time.Microsecond {
			r.Errorf("%v %v: a microsecond before %v have passed: reset after %v", l.Algorithm, l, d.ResetAfter, e.ResetAfter)
		}
		r.sleep(time.Microsecond)
		if d = r.take(charge(key, 0, l)); d.Remaining != l.Max() || d.ResetAfter != 0 {
			r.Errorf("%v %v: after ResetAfter: remaining %d of %d, reset after %v", l.Algorithm, l, d.Remaining, l.Max(), d.ResetAfter)
		}
	}
}

// first: after the first of n units n-1 remain, at any rate and date.
func first(r *run) {
	dates := []time.Duration{0, 26*365*24*time.Hour + 123457*time.Microsecond, 74*365*24*time.Hour + 7*time.Microsecond}
	rng := rand.New(rand.NewPCG(13, 14))
	for _, wait := range dates {
		r.sleep(wait)
		for _, period := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
			for _, i := range long.Some(rng, 1000) {
				n := int64(i + 1)
				l := store.Per(n, period)
				if d := r.take(charge(fmt.Sprint(wait, l), 1, l)); !d.Allowed || d.Remaining != n-1 {
					r.Fatalf("%v: first call: %+v", l, d)
				}
			}
		}
	}
}

// drift: at odd rates many slots, booked ahead or after RetryAfter, lose or gain nothing.
func drift(r *run) {
	for _, l := range []store.Limit{
		store.Per(3, time.Second), store.Per(7, 3*time.Second), store.Per(1_000_000, 24*time.Hour),
		store.Per(100_000_000, time.Second), store.Per(1, 365*24*time.Hour), store.Per(3, time.Second).WithBurst(1),
	} {
		n := int64(long.Of(300))
		if l.Period > 24*time.Hour {
			n = min(n, 10)
		}
		cost := max(l.Rate/1_000_000, 1) // at 10⁸ per second: 100 units per microsecond
		ahead, polled := fmt.Sprint("ahead ", l, l.Burst), fmt.Sprint("polled ", l, l.Burst)
		r.take(charge(ahead, l.Max(), l))
		r.take(charge(polled, l.Max(), l))
		for i := int64(1); i <= n; i++ {
			if d, want := r.reserve(ahead, cost, store.MaxPeriod, l), ticks(l, i*cost); d.Delay != want {
				r.Fatalf("%v: after %d units a delay of %v, want %v", l, i*cost, d.Delay, want)
			}
		}
		if l.Burst == 1 {
			continue // The next call finds the bucket full, perhaps for a moment already.
		}
		var passed time.Duration
		for i := int64(1); i <= n; i++ {
			d, want := r.take(charge(polled, cost, l)), ticks(l, i*cost)-passed
			if d.RetryAfter != want {
				r.Fatalf("%v: after %d units and %v: %+v, want a RetryAfter of %v", l, (i-1)*cost, passed, d, want)
			}
			r.sleep(d.RetryAfter)
			passed += d.RetryAfter
			if d := r.take(charge(polled, cost, l)); !d.Allowed {
				r.Fatalf("%v: refused after exactly RetryAfter: %+v", l, d)
			}
		}
	}
}

// ticks returns the time in which n units are refilled, rounded up.
func ticks(l store.Limit, n int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(l.Period.Microseconds()))
	q, rest := bits.Div64(hi, lo, uint64(l.Rate))
	return time.Duration(q+min(rest, 1)) * time.Microsecond
}

// extremes: at the bounds of a limit nothing overflows.
func extremes(r *run) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for _, l := range []store.Limit{
			{Rate: 1, Period: time.Microsecond},
			{Rate: store.MaxUnits, Period: time.Microsecond},
			{Rate: store.MaxUnits, Period: store.MaxPeriod},
			{Rate: store.MaxUnits - 1, Period: store.MaxPeriod - time.Microsecond},
			{Rate: store.MaxUnits, Period: time.Second, Burst: 1},
			{Rate: 1, Period: store.MaxPeriod},
		} {
			if l.Algorithm = a; l.Validate() != nil {
				continue // A burst is for GCRA alone.
			}
			key := fmt.Sprint("extreme ", a, l, l.Burst)
			if d := r.take(charge(key, l.Max(), l)); !d.Allowed || d.Remaining != 0 {
				r.Errorf("%v %v burst %d: all at once: %+v", a, l, l.Burst, d)
			}
			d := r.take(charge(key, l.Max(), l))
			if d.Allowed || d.RetryAfter > 2*store.MaxPeriod {
				r.Errorf("%v %v burst %d: all once more: %+v", a, l, l.Burst, d)
			}
			if l.Period > 24*time.Hour {
				continue // The clock's range ends here.
			}
			r.sleep(d.RetryAfter)
			if d := r.take(charge(key, l.Max(), l)); !d.Allowed || d.Remaining != 0 {
				r.Errorf("%v %v burst %d: all once more after RetryAfter: %+v", a, l, l.Burst, d)
			}
		}
	}
}
