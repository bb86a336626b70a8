package share

import (
	"context"
	"maps"
	"testing"

	"github.com/goweir/weir/store"
)

type corrected map[any]int64

func (s corrected) Settle(_ context.Context, of any, costs ...int64) error {
	s[of] = costs[0]
	return nil
}

// A call costs 60, but only 30 are booked, as the rest is too far ahead. At most 30 are
// given back.
func TestPartsThatWereNotBookedAreNotGivenBack(t *testing.T) {
	t.Parallel()
	parts := Parts{{1, []int64{10}}, {2, []int64{10}}, {3, []int64{10}}}
	for cost, want := range map[int64]corrected{
		70: {3: 20}, 60: {}, 45: {}, 30: {}, 25: {3: 5}, 15: {2: 5, 3: 0}, 0: {1: 0, 2: 0, 3: 0},
	} {
		got := corrected{}
		if err := parts.Settle(context.Background(), got, []store.Charge{{Cost: 60}}, func(int) int64 { return cost }); err != nil || !maps.Equal(got, want) {
			t.Errorf("settled at %d: parts become %v, want %v (%v)", cost, got, want, err)
		}
	}
}
