package heed

import "github.com/goweir/weir/upstream"

// target returns the index of the booking that a signal's budget is about, and whether
// the budget is a limit of that booking. A budget with neither a limit nor a name may be
// any of ours, so it counts as ours.
//
//	the signal                          the booking
//	a budget with a limiter's name      that limiter's
//	a refusal that has units left       the first
//	a budget that is a limit of ours    that limit's, of several the first
//	… or has slightly more units        that limit's, of several the first
//	another refusal                     the first
//	another success                     the first in its unit
func target(s *upstream.Signal, budgets []upstream.Budget, bookings []Booking) (at int, ours bool) {
	if at := byName(s.Name, budgets, bookings); at >= 0 {
		return at, true
	}
	switch {
	case s.Refused && s.Remaining != 0:
		return 0, false
	case s.Limit <= 0:
		return 0, s.Remaining == 0 && s.Name == ""
	}
	best := noMatch
	at = -1 // the first in the unit of s, or the first of the best match
	for i := range bookings {
		b := &bookings[i]
		if !b.Unit.counts(s) {
			continue
		}
		if at < 0 {
			at = i
		}
		for j := range b.Limits {
			if m := matches(&b.Limits[j], s); m > best {
				best, at = m, i
			}
		}
	}
	if s.Refused && best == noMatch {
		return 0, false
	}
	return max(at, 0), best > noMatch
}
