package heed

import (
	"cmp"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// comparison is the relation between an upstream's limit and ours.
//
//	apart    nothing to compare: another unit, another window that is not known, or
//	         one far longer than ours
//	lowered  lower than ours, in a known window: the time between its units
//	none     not lower than ours
type comparison struct {
	apart, brief bool // brief: lowered is a guess that holds until the reset
	lowered      time.Duration
	window       time.Duration // of the upstream's limit; 0: not known
	unit         time.Duration // between two units of ours
	same         *store.Limit  // of ours, with as many units; nil: none
}

// compare compares a signal's limit with all limits that counted the request in its unit.
// If the upstream names no window, its limit is ours with as many units. Without such a
// limit, ours may be a part of it (see isBelow). Otherwise it is the next larger limit of
// ours, lowered.
func compare(s *upstream.Signal, bookings []Booking, target *Booking) (c comparison) {
	if s.Limit <= 0 {
		return c
	}
	if !target.Unit.counts(s) || s.Remaining > s.Limit { // More left than there is: "1,200" is read as 1.
		return comparison{apart: true}
	}
	longest, part := target.MaxPause, false
	var larger *store.Limit
	for ours := range limits(s, bookings) {
		longest = max(longest, ours.Period)
		part = part || isBelow(ours, s)
		switch {
		case ours.Rate == s.Limit || ours.Max() == s.Limit:
			if c.same == nil || matches(ours, s) > matches(c.same, s) {
				c.same = ours
			}
		case ours.Rate > s.Limit && (larger == nil || ours.Rate < larger.Rate):
			larger = ours
		}
	}
	c.unit = pace(s, bookings)
	switch {
	case s.Window > longest, s.Window <= 0 && s.Reset > stretched(longest):
		return comparison{apart: true}
	case s.Window > 0:
		c.window = s.Window
		if gap := s.Window / time.Duration(s.Limit); gap > c.unit+c.unit/20 && (c.same == nil || matches(c.same, s) != exactMatch) {
			c.lowered = spaced(gap)
		}
	case c.same != nil:
		c.window = c.same.Period
	case larger == nil, part && !isAdvertised(larger.Period/time.Duration(s.Limit), target.Gap):
	case s.Reset > larger.Period+larger.Period/4+time.Second: // Resets are rounded up.
		// It speaks of another window, which is at least that long.
		c.lowered = spaced(s.Reset / time.Duration(s.Limit))
	default:
		c.guess(s, larger.Period, target.Gap)
	}
	return c
}

// limits yields the limits that counted the request in the signal's unit.
func limits(s *upstream.Signal, bookings []Booking) func(yield func(*store.Limit) bool) {
	return func(yield func(*store.Limit) bool) {
		for i := range bookings {
			b := &bookings[i]
			for j := range b.Limits {
				if b.Unit.counts(s) && !yield(&b.Limits[j]) {
					return
				}
			}
		}
	}
}

// guess takes our window for the lower limit's. If it is not sure, the units left last until the reset. But units
// left for a far shorter time belong to another, unknown window. An earlier brake stays while its end draws near.
func (c *comparison) guess(s *upstream.Signal, window, advertised time.Duration) {
	gap := window / time.Duration(s.Limit)
	sure := s.Reset > window/2 || isAdvertised(gap, advertised)
	if even := evenly(s, 0); !sure && (s.Reset <= 0 || gap > 4*even && (even > 0 || !s.Refused)) {
		c.apart = true
		return
	}
	c.window, c.lowered = window, spaced(gap)
	if c.brief = !sure; c.brief {
		c.lowered = min(c.lowered, s.Reset/time.Duration(max(s.Remaining, 1)))
	}
}

// pace returns the time between two units at our pace: that of the slowest limit with a
// window as long as the signal's, or shorter. A limit with a longer window may still have
// its burst.
func pace(s *upstream.Signal, bookings []Booking) (unit time.Duration) {
	window, slowest := max(s.Window, s.Reset), time.Duration(0)
	for l := range limits(s, bookings) {
		each := interval(l)
		if slowest = max(slowest, each); l.Period <= stretched(window) {
			unit = max(unit, each)
		}
	}
	return cmp.Or(unit, slowest)
}
