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

// AppendPlaces appends the places of the charges with the key of the i-th. It appends none if
// an earlier charge has that key.
func AppendPlaces(places []int, charges []store.Charge, i int) []int {
	for j := range charges {
		switch {
		case !Same(&charges[j], &charges[i]):
		case j < i:
			return places
		default:
			places = append(places, j)
		}
	}
	return places
}

// At returns the charges at some places, which rise.
func At(charges []store.Charge, places []int) (some []store.Charge) {
	from, to := places[0], places[len(places)-1]+1
	if to-from == len(places) {
		return charges[from:to:to]
	}
	for _, at := range places {
		some = append(some, charges[at])
	}
	return some
}

// CheckBrake returns an error unless the charges of a brake are valid and of one key.
func CheckBrake(charges []store.Charge, b *store.Brake) error {
	if err := (store.Request{Charges: charges}).Validate(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !One(charges) {
		return &store.ConfigError{Field: "charges", Want: "charges of one key", Got: "several keys"}
	}
	return nil
}

// One reports whether all charges have the same key.
func One(charges []store.Charge) bool {
	for i := 1; i < len(charges); i++ {
		if !Same(&charges[i], &charges[0]) {
			return false
		}
	}
	return true
}
