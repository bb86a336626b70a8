package keys_test

import (
	"slices"
	"testing"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	a, b, c := store.Charge{Key: "k"}, store.Charge{Key: "l"}, store.Charge{Scope: "s", Key: "k"}
	for _, test := range []struct {
		charges []store.Charge
		groups  [][]int // the places of the charges of each key
	}{
		{[]store.Charge{a}, [][]int{{0}}},
		{[]store.Charge{a, a, a}, [][]int{{0, 1, 2}}},
		{[]store.Charge{a, b, c}, [][]int{{0}, {1}, {2}}},
		{[]store.Charge{a, b, a, c, b}, [][]int{{0, 2}, {1, 4}, {3}}},
	} {
		var places []int
		for i := range test.charges {
			places = append(places, i)
		}
		var groups [][]int
		for i := range test.charges {
			if keys.First(test.charges, i) {
				groups = append(groups, keys.Pick(places, test.charges, i))
			}
			at := keys.AppendPlaces(nil, test.charges, i)
			if want := keys.First(test.charges, i); (at != nil) != want || want && !slices.Equal(at, groups[len(groups)-1]) {
				t.Errorf("%v: places %v with the key of the %d-th, groups %v", test.charges, at, i, groups)
			}
			if at != nil && !slices.EqualFunc(keys.At(test.charges, at), at, func(c store.Charge, i int) bool { return keys.Same(&c, &test.charges[i]) }) {
				t.Errorf("%v: charges %v at %v", test.charges, keys.At(test.charges, at), at)
			}
		}
		if !slices.EqualFunc(groups, test.groups, slices.Equal[[]int]) || keys.One(test.charges) != (len(groups) == 1) {
			t.Errorf("%v: groups %v, want %v", test.charges, groups, test.groups)
		}
	}
}
