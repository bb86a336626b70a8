// Package keys groups the charges of a request by their keys.
package keys

import (
	"slices"

	"github.com/goweir/weir/store"
)

// Key is a key in a scope.
type Key struct{ Scope, Key string }

// Of returns the key of a charge.
func Of(c *store.Charge) Key { return Key{c.Scope, c.Key} }

// Same reports whether two charges have the same key.
func Same(a, b *store.Charge) bool { return a.Key == b.Key && a.Scope == b.Scope }

// First reports whether no earlier charge has the key of the i-th.
func First(charges []store.Charge, i int) bool {
	return !slices.ContainsFunc(charges[:i], func(c store.Charge) bool { return Same(&c, &charges[i]) })
}

// Pick returns the elements of a list that belong to charges with the key of the i-th
// charge. The list has an element for each charge.
func Pick[T any](list []T, charges []store.Charge, i int) (picked []T) {
	if One(charges) {
		return list
	}
	for j := range charges {
		if Same(&charges[j], &charges[i]) {
			picked = append(picked, list[j])
		}
	}
	return picked
}

// One reports whether all charges have the same key.
func One(charges []store.Charge) bool {
	return !slices.ContainsFunc(charges[1:], func(c store.Charge) bool { return !Same(&c, &charges[0]) })
}
