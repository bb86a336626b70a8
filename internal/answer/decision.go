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
	Levels []Level // from narrow to wide
}

// Level is one Limiter's part of a decision.
type Level struct {
	Limiter string // its name
	Key     string
	Limits  []weir.Limit // No two of all levels have the same policy name.
}

// whole reports whether the decision has the state of every limit. A decision
// made without the store may have none, or only that of the binding limit.
func (d *Decision) whole() bool {
	n := 0
	for i := range d.Levels {
		n += len(d.Levels[i].Limits)
	}
	return d.Limit.Rate > 0 && (len(d.Charges) == n || d.Charges == nil && n == 1)
}

// Warning returns a decision to warn of, and whether there is one: a refusal, or else the
// decision about a limit that is near (see [weir.Decision.Near]). A binding limit of few
// units, as one per second, is never near, and hides no limit of a day that is.
func (d *Decision) Warning() (weir.Decision, bool) {
	if !d.Allowed || d.Near() || !d.whole() {
		return *d.Decision, !d.Allowed || d.Near()
	}
	about, i := *d.Decision, 0
	for _, level := range d.Levels {
		for _, limit := range level.Limits {
			c := d.Charge(i)
			about.Scope, about.Limit, about.Remaining, about.ResetAfter = level.Limiter, limit, c.Remaining, c.ResetAfter
			if i++; about.Near() {
				return about, true
			}
		}
	}
	return about, false
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
			for _, limit := range level.Limits {
				if d.Charge(i).RetryAfter > 0 && !yield(limit.Policy(), level.Limiter) {
					return
				}
				i++
			}
		}
	}
}
