// Package answer writes a decision into an HTTP response, as rate headers and as a
// problem body. It decides nothing.
package answer

import (
	"cmp"
	"iter"

	"github.com/goweir/weir"
)

// Decision is a decision with the limits that it is about.
type Decision struct {
	*weir.Decision
	// Limits are those of all levels, from narrow to wide. No two have the same
	// policy name.
	Limits []weir.Limit
	// Levels divide the Limits, in their order.
	Levels []Level
}

// Level is the part of a decision's limits that one Limiter has.
type Level struct {
	Limiter string // its name
	Key     string
	Limits  int // how many limits it has
}

// whole reports whether the decision has the state of every limit. A decision
// made without the store may have none, or only that of the binding limit.
func (d *Decision) whole() bool {
	n := len(d.Limits)
	return d.Limit.Rate > 0 && (len(d.Charges) == n || d.Charges == nil && n == 1)
}

// Violated lists the limits that refuse, by the name of the policy and of its
// Limiter. A pause violates none. A decision that is not whole lists the binding
// limit.
func (d *Decision) Violated() iter.Seq2[string, string] {
	return func(yield func(policy, limiter string) bool) {
		switch {
		case d.Reason == weir.ReasonPaused:
			return
		case !d.whole():
			yield(d.Limit.Policy(), cmp.Or(d.Scope, d.Levels[0].Limiter))
			return
		}
		i := 0
		for _, level := range d.Levels {
			for end := i + level.Limits; i < end; i++ {
				if d.Charge(i).RetryAfter > 0 && !yield(d.Limits[i].Policy(), level.Limiter) {
					return
				}
			}
		}
	}
}
