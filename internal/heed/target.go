package heed

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

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

// match says how near a signal's budget is to a limit of ours.
type match uint8

const (
	noMatch    match = iota // another number of units, or another window
	nearMatch               // the signal's has more units, by a margin
	exactMatch              // as many units
)

// matches compares a signal's budget with a limit, by its rate and by its burst. Of
// evenly spaced units it compares the number in a named window.
func matches(l *store.Limit, s *upstream.Signal) match {
	units, each := l.Max(), interval(l)
	if units == 1 && s.Window > 0 {
		return matchUnits(int64(s.Window/each), s.Window, s)
	}
	return max(matchUnits(l.Rate, l.Period, s), matchUnits(units, max(l.Period, each*time.Duration(units)), s))
}

// matchUnits compares a signal's budget with units of ours that are new after window.
func matchUnits(units int64, window time.Duration, s *upstream.Signal) match {
	switch {
	case s.Window > 0 && (window < s.Window || window > stretched(s.Window)):
		return noMatch
	case s.Window <= 0 && s.Reset > stretched(window)+time.Second: // Resets are rounded up.
		return noMatch
	case units == s.Limit:
		return exactMatch
	case isNear(units, s.Limit):
		return nearMatch
	}
	return noMatch
}

// isNamed reports whether a signal's limit has as many units as ours.
func isNamed(l *store.Limit, s *upstream.Signal) bool { return l.Rate == s.Limit || l.Max() == s.Limit }

// isNear reports whether ours are fewer units than the upstream's, by a margin.
func isNear(units, limit int64) bool { return units < limit && units >= limit-margin(limit) }

// margin returns the maximum number of units that users leave to be safe.
func margin(limit int64) int64 { return max(limit/4, 1) }

// stretched returns the longest period of ours that still stands for a window, which
// [weir.Limit.Stretch] may have lengthened.
func stretched(window time.Duration) time.Duration { return window + window/2 }

// isBelow reports whether a limit is a part of the signal's: at least a quarter of
// its units, renewed as soon. Of a bucket, nearly all its units: the time that a
// bucket takes to fill says nothing of a pace otherwise.
func isBelow(l *store.Limit, s *upstream.Signal) bool {
	units, minUnits := l.Rate, s.Limit/4
	if size := l.Max(); size > units || isNear(size, s.Limit) {
		units, minUnits = size, s.Limit-margin(s.Limit)
	}
	if s.Reset <= 0 || units >= s.Limit || units < minUnits {
		return false
	}
	each := interval(l)
	return (s.Reset-time.Second)/time.Duration(units) <= each+each/4 // Resets are rounded up.
}
