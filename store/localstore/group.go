package localstore

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// home is the place of a key.
type home struct {
	id
	places []int // see exact.Group
	shard  *shard
	entry  *entry
	fresh  bool // the entry is new, and no shard keeps it yet
}

// group returns the groups of charges with the same keys.
func (s *shards) group(charges []store.Charge) (groups []exact.Group, homes []home) {
	n := len(charges)
	numbers, each := make([]int, 2*n), make([]int64, n)
	places, parts := numbers[:n:n], numbers[n:]
	charges = byKey(charges, places)
	keys := 1
	for i := 1; i < n; i++ {
		if !sameKey(&charges[i], &charges[i-1]) {
			keys++
		}
	}
	groups, homes = make([]exact.Group, 0, keys), make([]home, 0, keys)
	for from, to := 0, 1; from < n; from, to = to, to+1 {
		for to < n && sameKey(&charges[to], &charges[from]) {
			to++
		}
		homes = append(homes, home{id: s.id(charges[from].Scope, charges[from].Key), places: places[from:to]})
		groups = append(groups, exact.Group{
			Charges: charges[from:to:to], Places: places[from:to],
			Found: exact.Found{Parts: parts[from:to:to], Each: each[from:to:to]},
		})
	}
	return groups, homes
}

// byKey returns charges with those of each key together, and sets their places in the
// request.
func byKey(charges []store.Charge, places []int) []store.Charge {
	n := len(charges)
	for i := range places {
		first := 0 // the place of the key's first charge
		for !sameKey(&charges[first], &charges[i]) {
			first++
		}
		places[i] = first*n + i
	}
	slices.Sort(places)
	for i := range places {
		places[i] %= n
	}
	if slices.IsSorted(places) {
		return charges
	}
	sorted := make([]store.Charge, n)
	for i, at := range places {
		sorted[i] = charges[at]
	}
	return sorted
}
