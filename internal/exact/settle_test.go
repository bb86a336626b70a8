package exact

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestDebt(t *testing.T) {
	t.Parallel()
	most := int64(store.MaxPeriod/time.Microsecond) + MostDebt
	for _, tt := range []struct {
		name  string
		limit store.Limit
		units int64
		want  Micros
	}{
		{"nothing", store.Per(3, time.Second), 0, Micros{}},
		{"a fraction", store.Per(3, time.Second), 2, Micros{666_666, 2}},
		{"over the burst", store.Per(3, time.Second), 3000, Micros{Whole: 1_000_000_000}},
		{"the fastest", store.Per(store.MaxUnits, time.Microsecond), store.MaxUnits, Micros{Whole: 1}},
		{"too much to count", store.Per(1, store.MaxPeriod), store.MaxUnits, Micros{Whole: most}},
		{"too long to wait for", store.Per(1, 24*time.Hour), 40_000, Micros{Whole: most}},
	} {
		p := RuleOf(&tt.limit).Pace
		if got := p.Span(tt.units); got != tt.want {
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
		{"one for each", []int64{0, 7, store.MaxUnits}, []int64{0, 7, store.MaxUnits}},
		{"none", nil, nil},
		{"too few", []int64{1, 2}, nil},
		{"too many", []int64{1, 2, 3, 4}, nil},
		{"below 0", []int64{-1}, nil},
		{"above the most", []int64{1, 1, store.MaxUnits + 1}, nil},
	} {
		cost, err := Settled(3, tt.costs)
		if (err != nil) != (tt.want == nil) || err != nil && !errors.Is(err, store.ErrConfig) {
			t.Errorf("%s: %v", tt.name, err)
		}
		for i, want := range tt.want {
			if got := cost(i); got != want {
				t.Errorf("%s: charge %d costs %d, want %d", tt.name, i, got, want)
			}
		}
	}
}
