package exact

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestDebt(t *testing.T) {
	t.Parallel()
	most := int64(weir.MaxPeriod/time.Microsecond) + MostDebt
	for _, tt := range []struct {
		name  string
		limit weir.Limit
		units int64
		want  Micros
	}{
		{"nothing", weir.PerSecond(3), 0, Micros{}},
		{"a fraction", weir.PerSecond(3), 2, Micros{666_666, 2}},
		{"over the burst", weir.PerSecond(3), 3000, Micros{Whole: 1_000_000_000}},
		{"the fastest", weir.Per(weir.MaxUnits, time.Microsecond), weir.MaxUnits, Micros{Whole: 1}},
		{"too much to count", weir.Per(1, weir.MaxPeriod), weir.MaxUnits, Micros{Whole: most}},
		{"too long to wait for", weir.PerDay(1), 40_000, Micros{Whole: most}},
	} {
		num, den := Emission(&tt.limit)
		if got := Debt(tt.units, num, den); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		costs []int64
		want  []int64 // of three charges; nil: an error
	}{
		{"one for all", []int64{7}, []int64{7, 7, 7}},
		{"one for each", []int64{0, 7, weir.MaxUnits}, []int64{0, 7, weir.MaxUnits}},
		{"none", nil, nil},
		{"too few", []int64{1, 2}, nil},
		{"too many", []int64{1, 2, 3, 4}, nil},
		{"below 0", []int64{-1}, nil},
		{"above the most", []int64{1, 1, weir.MaxUnits + 1}, nil},
	} {
		cost, err := Settled(3, tt.costs)
		if (err != nil) != (tt.want == nil) || err != nil && !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%s: %v", tt.name, err)
		}
		for i, want := range tt.want {
			if got := cost(i); got != want {
				t.Errorf("%s: charge %d costs %d, want %d", tt.name, i, got, want)
			}
		}
	}
}
