package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestEmission(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit    weir.Limit
		num, den int64
	}{
		{weir.PerSecond(1), 1_000_000, 1},
		{weir.PerSecond(3), 1_000_000, 3},
		{weir.PerSecond(100_000_000), 1, 100},
		{weir.Per(7, 3*time.Second), 3_000_000, 7},
		{weir.PerDay(1_000_000), 86_400, 1},
		{weir.Per(1, 365*24*time.Hour), 31_536_000_000_000, 1},
		{weir.Per(weir.MaxUnits, time.Microsecond), 1, weir.MaxUnits},
		{weir.Per(1, time.Microsecond), 1, 1},
		{weir.Per(weir.MaxUnits, weir.MaxPeriod), weir.MaxPeriod.Microseconds() >> 14, weir.MaxUnits >> 14},
	} {
		if num, den := Emission(&test.limit); num != test.num || den != test.den {
			t.Errorf("%v: %d/%d, want %d/%d", test.limit, num, den, test.num, test.den)
		}
	}
	rng := newRand(3)
	for range 5000 {
		l := randomLimit(rng, weir.GCRA)
		num, den := Emission(&l)
		want := rat(l.Period.Microseconds(), l.Rate)
		if want.Num().Int64() != num || want.Denom().Int64() != den {
			t.Fatalf("%+v: %d/%d, want %v", l, num, den, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit weir.Limit
		units int64
		want  Micros
		up    int64
	}{
		{weir.PerSecond(3), 0, Micros{0, 0}, 0},
		{weir.PerSecond(3), 1, Micros{333_333, 1}, 333_334},
		{weir.PerSecond(3), 2, Micros{666_666, 2}, 666_667},
		{weir.PerSecond(3), 3, Micros{1_000_000, 0}, 1_000_000},
		{weir.PerSecond(100_000_000), 1, Micros{0, 1}, 1},
		{weir.PerSecond(100_000_000), 99_999_999, Micros{999_999, 99}, 1_000_000},
		{weir.Per(weir.MaxUnits, weir.MaxPeriod), weir.MaxUnits, Micros{weir.MaxPeriod.Microseconds(), 0}, weir.MaxPeriod.Microseconds()},
		{weir.Per(weir.MaxUnits, time.Microsecond), weir.MaxUnits - 1, Micros{0, weir.MaxUnits - 1}, 1},
	} {
		p := PaceOf(&test.limit)
		if got := p.Span(test.units); got != test.want || got.Up() != test.up {
			t.Errorf("%d units of %v: %v, up %d, want %v, %d", test.units, test.limit, got, got.Up(), test.want, test.up)
		}
	}
	rng := newRand(4)
	for range 20_000 {
		l := randomLimit(rng, weir.GCRA)
		p, n := PaceOf(&l), spread(rng, l.Max())
		want := rat(l.Period.Microseconds(), l.Rate)
		want = times(want, whole(n))
		got := p.Span(n)
		if plus(whole(got.Whole), rat(got.Rem, p.Den)).Cmp(want) != 0 || got.Rem < 0 || got.Rem >= p.Den || got.Up() != ceil(want) {
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
		den := spread(rng, weir.MaxUnits)
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
