// Package keys groups the charges of a request by their keys.
package keys

import "github.com/goweir/weir/store"

// Key is a key in a scope.
type Key struct{ Scope, Key string }

// Of returns the key of a charge.
func Of(c *store.Charge) Key { return Key{c.Scope, c.Key} }

// Same reports whether two charges have the same key.
func Same(a, b *store.Charge) bool { return a.Key == b.Key && a.Scope == b.Scope }

// First reports whether no earlier charge has the key of the i-th.
func First(charges []store.Charge, i int) bool {
	for j := range charges[:i] {
		if Same(&charges[j], &charges[i]) {
			return false
		}
	}
	return true
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
	for i := range charges[1:] {
		if !Same(&charges[i+1], &charges[0]) {
			return false
		}
	}
	return true
}
