package inspect

import (
	"cmp"
	"fmt"
	"slices"
)

// Order says which keys come first.
type Order string

// The orders. Keys that are alike stand in the order of their names.
const (
	ByName Order = "name"
	// ByUse has the largest used share of a limit first.
	ByUse Order = "use"
	// ByRefusal has the keys first that refuse calls for the longest time from now on. The
	// state counts no past refusals, as refusals change nothing.
	ByRefusal Order = "refusal"
	// ByQueue has the keys with the latest slot booked ahead first.
	ByQueue Order = "queue"
)

// Orders are all orders.
var Orders = []Order{ByName, ByUse, ByRefusal, ByQueue}

// Sort sorts keys. An unknown order is an error.
func Sort(keys []Key, by Order) error {
	var compare func(a, b *Key) int
	switch by {
	case ByName:
		compare = func(a, b *Key) int { return 0 }
	case ByUse:
		compare = func(a, b *Key) int { return cmp.Compare(b.share(), a.share()) }
	case ByRefusal:
		compare = func(a, b *Key) int { return cmp.Compare(b.Next.RetryAfter, a.Next.RetryAfter) }
	case ByQueue:
		compare = func(a, b *Key) int { return cmp.Compare(b.Ahead.Last, a.Ahead.Last) }
	default:
		return fmt.Errorf("order %q: want one of %v", by, Orders)
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(compare(&a, &b), cmp.Compare(a.Stored, b.Stored)) })
	return nil
}

func (k *Key) share() float64 {
	if l := k.Busiest(); l != nil {
		return l.Share()
	}
	return 0
}
