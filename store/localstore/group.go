package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// home is a key of a request, and the place of its state.
type home struct {
	id
	shard *shard
	entry *entry
	fresh bool // the entry is new, and no shard keeps it yet
}

// group returns the groups of charges with the same keys.
func (s *shards) group(charges []store.Charge) (groups []exact.Group, homes []home) {
	n := len(charges)
	numbers, each := make([]int, 2*n), make([]int64, n)
	places, parts := numbers[:0:n], numbers[n:]
	groups, homes = make([]exact.Group, 0, n), make([]home, 0, n)
	for i := range charges {
		from := len(places)
		places = keys.AppendPlaces(places, charges, i)
		to := len(places)
		if from == to {
			continue
		}
		homes = append(homes, home{id: s.id(charges[i].Scope, charges[i].Key)})
		groups = append(groups, exact.Group{
			Charges: keys.At(charges, places[from:to]),
			Found:   exact.Found{Places: places[from:to], Parts: parts[from:to:to], Each: each[from:to:to]},
		})
	}
	return groups, homes
}
