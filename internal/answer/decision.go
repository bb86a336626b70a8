// Package answer writes a decision into an HTTP response, as rate headers and as a
// problem body. It decides nothing.
package answer

import (
	"cmp"
	"iter"
	"time"

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

// states returns the number of limits with a state: all, or none. A decision made without
// the store may have no state, or only that of the binding limit.
func (d *Decision) states() int {
	n := 0
	for i := range d.Levels {
		n += len(d.Levels[i].Limits)
	}
	if d.Limit.Rate > 0 && (len(d.Charges) == n || d.Charges == nil && n == 1) {
		return n
	}
	return 0
}

// about returns the decision as one about the i-th limit of all levels.
func (d *Decision) about(i int) weir.Decision {
	one, c, levels := *d.Decision, d.Charge(i), d.Levels
	for ; i >= len(levels[0].Limits); levels = levels[1:] {
		i -= len(levels[0].Limits)
	}
	one.Scope, one.Limit = levels[0].Limiter, levels[0].Limits[i]
	one.Remaining, one.ResetAfter, one.RetryAfter = c.Remaining, c.ResetAfter, c.RetryAfter
	return one
}

// Warning returns a decision to warn of, and whether there is one: a refusal, or else the
// decision about a limit that is near (see [weir.Decision.Near]). A binding limit of few
// units, as one per second, is never near, and hides no limit of a day that is.
func (d *Decision) Warning() (weir.Decision, bool) {
	if !d.Allowed || d.Near() {
		return *d.Decision, true
	}
	for i := range d.states() {
		if one := d.about(i); one.Near() {
			return one, true
		}
	}
	return *d.Decision, false
}

// single returns the decision about the limit that alone has headers: of a refusal the
// binding one. Otherwise it is the one with the fewest units, as the next calls can take no
// more, and of several the one that has more units last.
func (d *Decision) single() weir.Decision {
	fewest := *d.Decision
	for i := range d.states() {
		if one := d.about(i); d.Allowed && cmp.Or(cmp.Compare(one.Remaining, fewest.Remaining), cmp.Compare(untilMore(&fewest), untilMore(&one))) < 0 {
			fewest = one
		}
	}
	return fewest
}

// untilMore returns the time until the decision's limit has more units than Remaining: the
// reset that the drafts mean. It is longer if the decision does not tell: of a sliding window,
// or of a part of a limit.
func untilMore(d *weir.Decision) time.Duration {
	l, after, used := &d.Limit, d.ResetAfter, d.Limit.Max()-d.Remaining
	switch {
	case d.RetryAfter > 0 && d.Reason != weir.ReasonNeverFits:
		return d.RetryAfter
	case d.Degraded, used <= 0:
	case l.Algorithm == weir.GCRA:
		if behind, _ := span(l, used-1); behind < after { // Otherwise a brake holds the units back.
			return after - behind
		}
	case l.Algorithm == weir.SlidingCounter && after > l.Period: // The next window gives back units of this one.
		return min(after, after-l.Period+l.Period/time.Duration(used)+time.Microsecond)
	}
	return after
}

// Violated lists the limits that refuse, by the name of the policy and of its
// Limiter. A pause violates none. Without states it is the binding limit.
func (d *Decision) Violated() iter.Seq2[string, string] {
	return func(yield func(policy, limiter string) bool) {
		n := d.states()
		switch {
		case d.Reason == weir.ReasonPaused:
			return
		case n == 0:
			yield(d.Limit.Policy(), cmp.Or(d.Scope, d.Levels[0].Limiter))
			return
		}
		for i := range n {
			if one := d.about(i); one.RetryAfter > 0 && !yield(one.Limit.Policy(), one.Scope) {
				return
			}
		}
	}
}
