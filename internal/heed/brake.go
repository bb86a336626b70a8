// Package heed decides how a response slows our limits down. It compares the
// upstream's signal with the limits that counted the request, and returns a brake.
// It is a pure function of both: it asks no store, no clock and no network.
package heed

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

const (
	// minRecovery is the minimum time in which a rate that was cut is whole again.
	// Where a hundred units take longer, it is that long.
	minRecovery = 30 * time.Second
	// A pause is longer by its Slack: 1/slackPart of it, at most maxSlack. Several
	// requests that are refused together each ask for a little more.
	slackPart = 16
	maxSlack  = 50 * time.Millisecond
	// maxUnit is the longest time between two units that a Cut can have.
	maxUnit = store.MaxPeriod / 4
)

// Brake returns the brake that the signal calls for, or false when it says nothing
// new. A refusal pauses its target whatever it says, unless it is about calls under
// way: those end by themselves. A success with nothing left pauses its target only if
// the budget is a limit of the target: the budget of another resource, or of another
// window, leaves our keys alone.
func (v *View) Brake() (b store.Brake, news bool) {
	s := &v.signal
	switch {
	case s.Refused && s.Cause.Concurrent:
		return b, false
	case s.Pause > 0 && !s.Refused && (!v.ours || v.known()):
	case s.Pause > 0:
		pause := s.Pause
		if !s.Refused && s.Reset > 0 {
			pause = min(pause, s.Reset) // The rest is about another budget or another matter.
		}
		b.Pause, b.Slack, news = pause, min(pause/slackPart, maxSlack), true
		if s.Refused && v.again {
			b.Cut = v.cut(s.Pause)
		}
	case s.Refused:
		b.Cut, news = v.cut(maxUnit), true
	}
	gap, old := v.gap(), v.booking.Gap
	switch {
	case v.second, v.late && gap <= old+old/4:
	case gap > 0 && (old == 0 || gap > old+old/4 || gap < old-old/4):
		b.Tell, b.Gap, b.GapFor, news = true, gap, v.gapFor(), true
	case gap == 0 && old > 0 && s.Limit > 0 && !v.compared.apart:
		b.Tell, news = true, true
	}
	return b, news
}

// Doubtful reports whether much less is left than at the grant. Either strangers have
// used it, or other requests of ours have overtaken this one. A look at the store shows
// which.
func (v *View) Doubtful() bool {
	c := &v.compared
	return !v.signal.Refused && !v.second && c.lowered == 0 && !c.apart && v.signal.Limit > 0 && v.signal.Remaining >= 0 && v.usedByOthers()
}

// cut halves the rate of the target's fastest limit: a slow limit with much left is far
// from the present pace. Units further apart than unit are not cut.
func (v *View) cut(unit time.Duration) store.Cut {
	for i := range v.booking.Limits {
		l := &v.booking.Limits[i]
		unit = min(unit, l.Period/time.Duration(l.Rate))
	}
	c := store.Cut{Unit: max(unit, time.Microsecond), Since: v.booking.At, Recovery: v.booking.MaxPause}
	if c.Unit < c.Recovery/100 {
		c.Recovery = min(max(100*c.Unit, minRecovery), c.Recovery)
	}
	return c
}

// Others yields the views of the other budgets of the response that are limits of ours. A
// budget whose target v or an earlier budget has can only pause it, for longer than before.
// If v is a refusal, such a budget of its target is left out: the refusal says how long. No
// pause is longer than maxPause.
func (v *View) Others(budgets []upstream.Budget, bookings []Booking, maxPause time.Duration) func(yield func(View) bool) {
	return func(yield func(View) bool) {
		seen, paused := make([]bool, len(bookings)), make([]time.Duration, len(bookings))
		b, _ := v.Brake()
		seen[v.Target], paused[v.Target] = true, b.Pause
		for i := range budgets {
			s := upstream.Signal{Budget: budgets[i]}
			if s.Informational || s.Budget == v.signal.Budget {
				continue
			}
			if s.Remaining == 0 {
				s.Pause = min(max(s.Reset, 0), maxPause)
			}
			at, ours := target(&s, budgets, bookings)
			if !ours || seen[at] && (s.Pause <= paused[at] || v.signal.Refused && at == v.Target) {
				continue
			}
			other := newView(&s, bookings, at, ours)
			other.second, seen[at] = seen[at], true
			b, _ := other.Brake()
			paused[at] = max(paused[at], b.Pause)
			if !yield(other) {
				return
			}
		}
	}
}
