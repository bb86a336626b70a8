package fallback

import "github.com/goweir/weir/store"

// group returns the places of all charges with the key of the first-th, or nil if an
// earlier charge has that key.
func group(charges []store.Charge, first int) (places []int) {
	for i := range charges {
		if charges[i].Key == charges[first].Key && charges[i].Scope == charges[first].Scope {
			if i < first {
				return nil
			}
			places = append(places, i)
		}
	}
	return places
}

// pick returns the charges at places.
func pick(charges []store.Charge, places []int) (list []store.Charge) {
	for _, i := range places {
		list = append(list, charges[i])
	}
	return list
}

// oneKey reports whether all charges have the same key.
func oneKey(charges []store.Charge) bool {
	for i := range charges[1:] {
		if charges[i+1].Key != charges[0].Key || charges[i+1].Scope != charges[0].Scope {
			return false
		}
	}
	return true
}
