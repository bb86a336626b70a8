package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

const now = 946684800_000_000 // 2000-01-01, in µs

func TestView(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit            store.Limit
		state            State
		remaining, reset int64
	}{
		"gcra, never used":                {store.Per(3, time.Second), State{}, 3, 0},
		"gcra, one of three":              {store.Per(3, time.Second), State{A: now + 333_333, B: 1}, 2, 333_334},
		"gcra, a fraction is left":        {store.Per(3, time.Second), State{A: now, B: 1}, 2, 1},
		"gcra, just full":                 {store.Per(3, time.Second), State{A: now}, 3, 0},
		"gcra, all":                       {store.Per(3, time.Second), State{A: now + 1_000_000}, 0, 1_000_000},
		"gcra, slots ahead":               {store.Per(3, time.Second), State{A: now + 9_333_333, B: 1}, 0, 9_333_334},
		"gcra, a burst of one":            {store.Per(3, time.Second).WithBurst(1), State{A: now + 1}, 0, 1},
		"gcra, a remainder that is wrong": {store.Per(3, time.Second), State{A: now, B: 1 << 53}, 2, 1},
		"log, never used":                 {store.Per(3, time.Second).By(store.SlidingWindow), State{}, 3, 0},
		"log, two live":                   {store.Per(3, time.Second).By(store.SlidingWindow), State{A: 2, B: now - 100}, 1, 999_900},
		"log, expired":                    {store.Per(3, time.Second).By(store.SlidingWindow), State{B: now - 1_000_000}, 3, 0},
		"log, more than the rate":         {store.Per(3, time.Second).By(store.SlidingWindow), State{A: 7, B: now + 5}, 0, 1_000_005},
		"counter, never used":             {store.Per(10, time.Second).By(store.SlidingCounter), State{}, 10, 0},
		"counter, this window":            {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 500_000, B: 4}, 6, 1_500_000},
		"counter, half of the one before": {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 500_000, C: 4}, 8, 500_000},
		"counter, weight rounded up":      {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 500_001, C: 4}, 8, 499_999},
		"counter, both":                   {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 250_000, B: 3, C: 9}, 0, 1_750_000},
		"counter, a window later":         {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 1_500_000, B: 4, C: 9}, 8, 500_000},
		"counter, two windows later":      {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now - 2_000_000, B: 4, C: 9}, 10, 0},
		"counter, a window to come":       {store.Per(10, time.Second).By(store.SlidingCounter), State{A: now + 500_000, B: 4, C: 5}, 1, 2_500_000},
		"fixed, never used":               {store.Per(3, time.Second).By(store.FixedWindow), State{}, 3, 0},
		"fixed, two used":                 {store.Per(3, time.Second).By(store.FixedWindow), State{A: now - 400_000, B: 2}, 1, 600_000},
		"fixed, its end":                  {store.Per(3, time.Second).By(store.FixedWindow), State{A: now - 1_000_000, B: 2}, 3, 0},
		"fixed, a window to come":         {store.Per(3, time.Second).By(store.FixedWindow), State{A: now + 400_000, B: 3}, 0, 1_400_000},
		"fixed, all given back":           {store.Per(3, time.Second).By(store.FixedWindow), State{A: now}, 3, 0},
		"aligned, two used":               {store.Per(3, time.Second).By(store.AlignedWindow), State{A: now, B: 2}, 1, 1_000_000},
		"aligned, more than the rate":     {store.Per(3, time.Second).By(store.AlignedWindow), State{A: now, B: 5}, 0, 1_000_000},
	} {
		if remaining, reset := View(&test.limit, test.state, now); remaining != test.remaining || reset != test.reset {
			t.Errorf("%s: %d remaining, reset after %d, want %d, %d", name, remaining, reset, test.remaining, test.reset)
		}
	}
}

// TestViewGCRA compares with ⌊(now + C − base)/T⌋ in rational numbers.
func TestViewGCRA(t *testing.T) {
	t.Parallel()
	rng := newRand(6)
	for range 20_000 {
		l := randomLimit(rng, store.GCRA)
		interval := rat(l.Period.Microseconds(), l.Rate)
		capacity := times(interval, whole(l.Max()))
		p := PaceOf(&l)
		s := State{A: now - 10 + spread(rng, 2*p.Full.Whole+20), B: rng.Int64N(p.Den)}
		ahead := minus(plus(whole(s.A), rat(s.B, p.Den)), whole(now))
		if ahead.Sign() < 0 {
			ahead = whole(0)
		}
		left := minus(capacity, ahead)
		want := max(floor(left.Quo(left, interval)), 0)
		if remaining, reset := View(&l, s, now); remaining != want || reset != ceil(ahead) {
			t.Fatalf("%+v %+v: %d remaining, reset after %d, want %d, %d", l, s, remaining, reset, want, ceil(ahead))
		}
	}
}

// TestViewCounter compares with the largest cost for which
// prev·(period − elapsed) + (cur + cost)·period ≤ rate·period.
func TestViewCounter(t *testing.T) {
	t.Parallel()
	rng := newRand(7)
	for range 20_000 {
		l := randomLimit(rng, store.SlidingCounter)
		p := l.Period.Microseconds()
		s := State{A: now - rng.Int64N(3*p+1), B: spread(rng, l.Rate) - 1, C: spread(rng, l.Rate) - 1}
		start, cur, prev := Roll(s, p, now)
		weight := times(whole(prev), rat(p-(now-start), p))
		want := max(l.Rate-cur-ceil(weight), 0)
		if remaining, _ := View(&l, s, now); remaining != want {
			t.Fatalf("%+v %+v: %d remaining, want %d", l, s, remaining, want)
		}
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit store.Limit
		units int64
		want  State
	}{
		"no units":              {store.Per(3, time.Second), 0, State{A: 9_000_000, B: 1, C: 7}},
		"gcra":                  {store.Per(3, time.Second), 2, State{A: 8_333_333, B: 2, C: 7}},
		"gcra, of one µs":       {store.Per(1_000_000, time.Second), 5, State{A: 8_999_995, B: 1, C: 7}},
		"log":                   {store.Per(3, time.Second).By(store.SlidingWindow), 2, State{A: 8_999_998, B: 1, C: 7}},
		"counter":               {store.Per(3, time.Second).By(store.SlidingCounter), 1, State{A: 9_000_000, B: 0, C: 7}},
		"fixed window":          {store.Per(3, time.Second).By(store.FixedWindow), 1, State{A: 9_000_000, B: 0, C: 7}},
		"aligned, of no window": {store.Per(3, time.Second).By(store.AlignedWindow), 0, State{A: 9_000_000, B: 1, C: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (State{A: 9_000_000, B: 1, C: 7}).Before(&test.limit, test.units); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestRoll(t *testing.T) {
	t.Parallel()
	s := State{A: 1000, B: 5, C: 7}
	for name, test := range map[string]struct{ t, start, cur, prev int64 }{
		"before it":              {990, 1000, 5, 7},
		"its start":              {1000, 1000, 5, 7},
		"its last microsecond":   {1099, 1000, 5, 7},
		"the next one":           {1100, 1100, 0, 5},
		"the end of the next":    {1199, 1100, 0, 5},
		"the one after the next": {1200, 1200, 0, 0},
		"much later":             {987_654, 987_600, 0, 0},
	} {
		if start, cur, prev := Roll(s, 100, test.t); start != test.start || cur != test.cur || prev != test.prev {
			t.Errorf("%s: %d, %d, %d, want %d, %d, %d", name, start, cur, prev, test.start, test.cur, test.prev)
		}
	}
}

// TestViewOfWhatAnyoneWrote: numbers that no store wrote are looked at too.
func TestViewOfWhatAnyoneWrote(t *testing.T) {
	t.Parallel()
	rng := newRand(8)
	for range 50_000 {
		a := store.Algorithm(rng.IntN(5))
		l := randomLimit(rng, a)
		n := func() int64 { return []int64{0, spread(rng, 1<<53), 1 << 53, now + spread(rng, 1<<50)}[rng.IntN(4)] }
		s := State{n(), n(), n()}
		remaining, reset := View(&l, s, now)
		if remaining < 0 || remaining > l.Max() || reset < 0 {
			t.Fatalf("%+v %+v: %d remaining, reset after %v", l, s, remaining, time.Duration(reset))
		}
	}
}
