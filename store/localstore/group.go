package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// home is where a key is kept.
type home struct {
	id
	places []int // see exact.Group
	shard  *shard
	entry  *entry
	fresh  bool // the entry is new, and no shard keeps it yet
}

// oneKey reports whether all charges are of one key.
func oneKey(charges []store.Charge) bool {
	for i := 1; i < len(charges); i++ {
		if !sameKey(&charges[i], &charges[0]) {
			return false
		}
	}
	return true
}

func sameKey(a, b *store.Charge) bool { return a.Key == b.Key && a.Scope == b.Scope }

// group sorts charges by their keys.
func (s *shards) group(charges []store.Charge) (groups []exact.Group, homes []home) {
	n := len(charges)
	groups, homes = make([]exact.Group, 0, n), make([]home, 0, n)
	sorted, numbers, each := make([]store.Charge, 0, n), make([]int, 2*n), make([]int64, n)
	places, parts := numbers[:n], numbers[n:]
	for i := range charges {
		if earlier(charges, i) {
			continue
		}
		from := len(sorted)
		for j := i; j < n; j++ {
			if sameKey(&charges[j], &charges[i]) {
				places[len(sorted)] = j
				sorted = append(sorted, charges[j])
			}
		}
		to := len(sorted)
		homes = append(homes, home{id: s.id(charges[i].Scope, charges[i].Key), places: places[from:to]})
		groups = append(groups, exact.Group{
			Charges: sorted[from:to:to], Places: places[from:to],
			Found: exact.Found{Parts: parts[from:to:to], Each: each[from:to:to]},
		})
	}
	return groups, homes
}

// earlier reports whether a charge before the i-th is of its key.
func earlier(charges []store.Charge, i int) bool {
	for j := range i {
		if sameKey(&charges[j], &charges[i]) {
			return true
		}
	}
	return false
}
