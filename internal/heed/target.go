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
	near, first := -1, -1
	for i := range bookings {
		b := &bookings[i]
		if !b.Unit.counts(s) {
			continue
		}
		if first < 0 {
			first = i
		}
		for j := range b.Limits {
			switch matches(&b.Limits[j], s) {
			case exactMatch:
				return i, true
			case nearMatch:
				if near < 0 {
					near = i
				}
			}
		}
	}
	switch {
	case near >= 0:
		return near, true
	case s.Refused:
		return 0, false
	}
	return max(first, 0), false
}
