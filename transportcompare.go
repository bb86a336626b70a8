package weir

import (
	"time"

	"github.com/goweir/weir/upstream"
)

// comparison is how an upstream's limit compares with ours.
type comparison struct {
	lowered time.Duration // how far apart units are by a limit lower than ours; 0: it is not
	window  time.Duration // of the upstream's limit; 0: not known
	unit    time.Duration // between two units of ours, by the slowest limit of no longer windows
	same    *Limit        // of ours, that has the same number of units; nil: none
	// apart: there is nothing to compare. The limit counts something else, or lasts so
	// much longer than ours that what is left of it says nothing of our pace.
	apart bool
	// other: the limit is lower than ours in a window that nobody knows. What we
	// know to be left says nothing of what is left of that.
	other bool
}

// meant returns the booking whose key is slowed down for what a signal says: of a
// refusal the first; otherwise that on the limit it speaks of, where it is just that, or
// has a few units less as a margin, and else the first that counts in its unit.
func (a *admission) meant(s *upstream.Signal) *booking {
	if s.Refused || s.Limit <= 0 {
		return &a.first
	}
	var near, first *booking
	for b := range a.each {
		if !b.counts(s) {
			continue
		}
		if first == nil {
			first = b
		}
		for i := range b.limiter.limits {
			l := &b.limiter.limits[i]
			switch {
			case s.Window > 0 && !l.isOf(s.Window):
			case l.isSaid(s):
				return b
			case near == nil && (isNear(l.Rate, s.Limit) || isNear(l.Max(), s.Limit)):
				near = b
			}
		}
	}
	switch {
	case near != nil:
		return near
	case first != nil:
		return first
	}
	return &a.first
}

// isSaid reports whether a signal speaks of as many units as the limit has.
func (l *Limit) isSaid(s *upstream.Signal) bool { return l.Rate == s.Limit || l.Max() == s.Limit }

// isBelow reports whether a limit has fewer units than a signal speaks of, as one with
// a margin has, or one of a share, and would renew those as soon as the upstream does:
// at least a quarter. A bucket is below another where it is nearly as large. How long
// one takes to be full says nothing of a pace otherwise.
func (l *Limit) isBelow(s *upstream.Signal) bool {
	units, least := l.Rate, s.Limit/4
	if size := l.Max(); size > units || isNear(size, s.Limit) {
		units, least = size, s.Limit-margin(s.Limit)
	}
	if s.Reset <= 0 || units >= s.Limit || units < least {
		return false
	}
	each := max(l.Period/time.Duration(l.Rate), time.Microsecond)
	return (s.Reset-time.Second)/time.Duration(units) <= each+each/4 // Resets are rounded up.
}

// isNear reports whether units of ours are fewer than the upstream's by a margin.
func isNear(units, limit int64) bool { return units < limit && units >= limit-margin(limit) }

// margin returns the most units of an upstream's limit that are taken to be left alone.
func margin(limit int64) int64 { return max(limit/4, 1) }

// isOf reports whether a limit is of a window, to which a margin may have been added
// (see [Limit.Stretch]).
func (l *Limit) isOf(window time.Duration) bool {
	return l.Period >= window && l.Period <= withMargin(window)
}

// withMargin returns the longest period of ours that is taken to be of a window.
func withMargin(window time.Duration) time.Duration { return window + window/2 }

// compare compares limits: the one that a signal speaks of with all those that
// counted the request in its unit. An upstream that does not say the window of its
// limit is taken to speak of ours with as many units, or with fewer that are renewed as
// soon, or the next more. b is the booking that is meant.
func (a *admission) compare(s *upstream.Signal, b *booking) (c comparison) {
	if s.Limit <= 0 {
		return c
	}
	if !b.counts(s) || s.Remaining > s.Limit { // More left than there is: "1,000" is read as 1.
		return comparison{apart: true}
	}
	var more *Limit
	fewer := false
	longest := b.limiter.maxPause
	for b := range a.each {
		if !b.counts(s) {
			continue
		}
		for i := range b.limiter.limits {
			ours := &b.limiter.limits[i]
			longest = max(longest, ours.Period)
			fewer = fewer || ours.isBelow(s)
			switch {
			case ours.isSaid(s):
				if c.same == nil {
					c.same = ours
				}
			case ours.Rate > s.Limit && (more == nil || ours.Rate < more.Rate):
				more = ours
			}
		}
	}
	c.unit = a.unit(s)
	switch {
	case s.Window > longest:
		return comparison{apart: true}
	case s.Window > 0:
		c.window = s.Window
		if gap := s.Window / time.Duration(s.Limit); gap > c.unit+c.unit/20 {
			c.lowered = spaced(gap)
		}
	case c.same != nil:
		c.window = c.same.Period
	case more == nil, fewer && !isTold(more.Period/time.Duration(s.Limit), b.grant.told):
	case s.Reset > more.Period+more.Period/4+time.Second:
		// It speaks of another window, which is at least as long: by more than the
		// second by which resets are rounded up.
		c.lowered = spaced(s.Reset / time.Duration(s.Limit))
	default:
		c.guess(s, more.Period, b.grant.told)
	}
	return c
}

// isTold reports whether units are as far apart already as a lower limit has them.
func isTold(gap, told time.Duration) bool { return told > gap && told < gap+gap/4 }

// unit returns the time between two units at our pace: that of the slowest limit
// among those whose period is no longer than what a signal speaks of but for a margin,
// if there are any. A longer one has its burst to give.
func (a *admission) unit(s *upstream.Signal) (unit time.Duration) {
	window, all := max(s.Window, s.Reset), time.Duration(0)
	for b := range a.each {
		if !b.counts(s) {
			continue
		}
		for i := range b.limiter.limits {
			l := &b.limiter.limits[i]
			each := max(l.Period/time.Duration(l.Rate), time.Microsecond)
			if all = max(all, each); l.Period <= withMargin(window) {
				unit = max(unit, each)
			}
		}
	}
	if unit == 0 {
		return all
	}
	return unit
}

// guess takes the window of a limit lower than ours to be one of ours, unless what is
// left is to last for a far shorter time: then it is another, that nobody knows. What
// was told already stays so when its end draws near.
func (c *comparison) guess(s *upstream.Signal, window, told time.Duration) {
	gap := window / time.Duration(s.Limit)
	sure := s.Reset > window/2 || isTold(gap, told)
	if even := evenly(s); !sure && (s.Reset <= 0 || even > 0 && gap > 4*even) {
		c.other = true
		return
	}
	c.window, c.lowered = window, spaced(gap)
	if !sure {
		c.lowered = min(c.lowered, s.Reset)
	}
}

// vague reports whether the reset is not the time at which a window ends, as
// more than a quarter of it is used though not a quarter of it would be over.
// Then some units are free sooner.
func (c *comparison) vague(s *upstream.Signal) bool {
	return c.window > 0 && s.Reset > c.window/4*3 && s.Remaining < s.Limit/4*3
}

// knows reports whether a response that admits and says that nothing is left
// tells nothing new: units are as far apart as the upstream's limit has it
// already, or ours is the same sliding window, which knows when the next is
// free. Nothing left where we know of much is news.
func (c *comparison) knows(s *upstream.Signal, g *grant, underWay int64) bool {
	if c.lowered > 0 {
		return g.told > 0 && c.vague(s)
	}
	return c.same != nil && c.same.Algorithm == SlidingWindow && g.remaining-underWay <= c.same.Rate/2
}

// gap returns how far apart units have to be by what an upstream says; 0 when
// the limits are enough. When its limit is lower than ours, or when much of it
// is used that is not ours, what is left is to last until the reset.
func (c *comparison) gap(s *upstream.Signal, g *grant, underWay int64) time.Duration {
	even := evenly(s)
	if g.told > 0 && c.vague(s) {
		even = 0
	}
	switch {
	case c.lowered > 0:
		return max(c.lowered, even)
	case c.apart, even <= c.unit+c.unit/20:
		return 0
	case c.other:
		return spaced(even)
	case s.Limit > 0 && g.remaining-underWay-s.Remaining > s.Limit/2:
		return even
	}
	return 0
}

// evenly returns how far apart the units are that are left until the reset; 0 when
// that is not said, or none is.
func evenly(s *upstream.Signal) time.Duration {
	if s.Remaining > 0 && s.Reset > 0 {
		return s.Reset / time.Duration(s.Remaining)
	}
	return 0
}

// spaced adds a twentieth, as units that leave evenly may arrive less so.
func spaced(gap time.Duration) time.Duration { return gap + gap/20 + time.Microsecond }
