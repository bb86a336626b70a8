package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestEmission(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit    store.Limit
		num, den int64
	}{
		{store.Per(1, time.Second), 1_000_000, 1},
		{store.Per(3, time.Second), 1_000_000, 3},
		{store.Per(100_000_000, time.Second), 1, 100},
		{store.Per(7, 3*time.Second), 3_000_000, 7},
		{store.Per(1_000_000, 24*time.Hour), 86_400, 1},
		{store.Per(1, 365*24*time.Hour), 31_536_000_000_000, 1},
		{store.Per(store.MaxUnits, time.Microsecond), 1, store.MaxUnits},
		{store.Per(1, time.Microsecond), 1, 1},
		{store.Per(store.MaxUnits, store.MaxPeriod), store.MaxPeriod.Microseconds() >> 14, store.MaxUnits >> 14},
	} {
		if num, den := emission(&test.limit); num != test.num || den != test.den {
			t.Errorf("%v: %d/%d, want %d/%d", test.limit, num, den, test.num, test.den)
		}
	}
	rng := newRand(3)
	for range 5000 {
		l := randomLimit(rng, store.GCRA)
		num, den := emission(&l)
		want := rat(l.Period.Microseconds(), l.Rate)
		if want.Num().Int64() != num || want.Denom().Int64() != den {
			t.Fatalf("%+v: %d/%d, want %v", l, num, den, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit store.Limit
		units int64
		want  Micros
		up    int64
	}{
		{store.Per(3, time.Second), 0, Micros{0, 0}, 0},
		{store.Per(3, time.Second), 1, Micros{333_333, 1}, 333_334},
		{store.Per(3, time.Second), 2, Micros{666_666, 2}, 666_667},
		{store.Per(3, time.Second), 3, Micros{1_000_000, 0}, 1_000_000},
		{store.Per(100_000_000, time.Second), 1, Micros{0, 1}, 1},
		{store.Per(100_000_000, time.Second), 99_999_999, Micros{999_999, 99}, 1_000_000},
		{store.Per(store.MaxUnits, store.MaxPeriod), store.MaxUnits, Micros{store.MaxPeriod.Microseconds(), 0}, store.MaxPeriod.Microseconds()},
		{store.Per(store.MaxUnits, time.Microsecond), store.MaxUnits - 1, Micros{0, store.MaxUnits - 1}, 1},
	} {
		p := RuleOf(&test.limit).Pace
		if got := p.Span(test.units); got != test.want || got.up() != test.up {
			t.Errorf("%d units of %v: %v, up %d, want %v, %d", test.units, test.limit, got, got.up(), test.want, test.up)
		}
	}
	rng := newRand(4)
	for range 20_000 {
		l := randomLimit(rng, store.GCRA)
		p, n := RuleOf(&l).Pace, spread(rng, l.Max())
		want := rat(l.Period.Microseconds(), l.Rate)
		want = times(want, whole(n))
		got := p.Span(n)
		if plus(whole(got.Whole), rat(got.Rem, p.Den)).Cmp(want) != 0 || got.Rem < 0 || got.Rem >= p.Den || got.up() != ceil(want) {
			t.Fatalf("%d units of %+v: %v over %d, want %v", n, l, got, p.Den, want)
		}
		if p.Full != p.Span(l.Max()) {
			t.Fatalf("%+v: full after %v, want %v", l, p.Full, p.Span(l.Max()))
		}
	}
}

func TestMicros(t *testing.T) {
	t.Parallel()
	rng := newRand(5)
	for range 20_000 {
		den := spread(rng, store.MaxUnits)
		draw := func() Micros { return Micros{spread(rng, 1<<52), rng.Int64N(den)} }
		a, b := draw(), draw()
		if rng.IntN(4) == 0 {
			b.Whole = a.Whole
		}
		value := func(m Micros) string { return plus(whole(m.Whole), rat(m.Rem, den)).String() }
		ra, rb := plus(whole(a.Whole), rat(a.Rem, den)), plus(whole(b.Whole), rat(b.Rem, den))
		sum, diff := a.Plus(b, den), a.Minus(b, den)
		if value(sum) != plus(ra, rb).String() || value(diff) != minus(ra, rb).String() {
			t.Fatalf("%v ± %v over %d: %v, %v", a, b, den, sum, diff)
		}
		for _, m := range []Micros{sum, diff} {
			if m.Rem < 0 || m.Rem >= den {
				t.Fatalf("%v ± %v over %d: a remainder of %d", a, b, den, m.Rem)
			}
		}
		if a.Less(b) != (ra.Cmp(rb) < 0) || a.Less(a) {
			t.Fatalf("%v < %v: %v", a, b, a.Less(b))
		}
	}
}
