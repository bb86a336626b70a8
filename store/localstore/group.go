package localstore

import (
	"slices"

	"github.com/goweir/weir/store"
)

// group is a key, and the places of its charges in the request.
type group struct {
	id
	places
	shard  *shard
	entry  *entry
	fresh  bool // the entry is new, and not kept yet
	counts bool // something is taken of the key
	states []state
}

// places are the indices of the charges of one key.
type places struct {
	n    int
	list []int // nil: 0, 1, 2, …
}

func (p places) at(i int) int {
	if p.list == nil {
		return i
	}
	return p.list[i]
}

func idOf(c *store.Charge) id { return id{c.Scope, c.Key} }

// oneKey reports whether all charges are of one key.
func oneKey(charges []store.Charge) bool {
	for i := 1; i < len(charges); i++ {
		if charges[i].Key != charges[0].Key || charges[i].Scope != charges[0].Scope {
			return false
		}
	}
	return true
}

// groupsOf sorts charges into the keys they are of.
func groupsOf(charges []store.Charge) []group {
	groups := make([]group, 0, len(charges))
	for i := range charges {
		k := idOf(&charges[i])
		at := slices.IndexFunc(groups, func(g group) bool { return g.id == k })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{id: k})
		}
		g := &groups[at]
		g.list = append(g.list, i)
		g.n++
	}
	return groups
}
