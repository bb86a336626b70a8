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

// TestOneLimitOfANewKeyIsGivenBack: it is as if never used, also if another key delayed the call.
func TestOneLimitOfANewKeyIsGivenBack(t *testing.T) {
	t.Parallel()
	var key, paused Key
	bucket, window, wide := store.Per(3, time.Second), store.Per(4, time.Minute).By(store.FixedWindow), store.Per(9, time.Second)
	paused.Brake(charges(0, wide).Charges, &store.Brake{Pause: 10 * time.Second}, begun)
	req := waiting(2, time.Hour, bucket, window, wide)
	groups := []Group{{Key: &key, Charges: req.Charges[:2], Found: Found{Places: []int{0, 1}}}, {Key: &paused, Charges: req.Charges[2:], Found: Found{Places: []int{2}}}}
	var v Verdict
	Take(req, groups, make([]Outcome, 3), &v, begun, 1, nil)
	for _, costs := range [][]int64{{0, 1}, {1, 0}} {
		k := key
		k.Parts = append([]Part(nil), key.Parts...)
		k.Settle(v.Keys[0].Receipt, begun+1, func(charge int) int64 { return costs[charge] })
		for i, l := range []store.Limit{bucket, window} {
			d, _ := take(&k, charges(0, l), begun+1, 0)
			if free := d.Remaining == l.Max() && d.ResetAfter == 0; costs[i] == 0 && !free {
				t.Errorf("%v, settled at %d: %+v", l, costs[i], d)
			}
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
