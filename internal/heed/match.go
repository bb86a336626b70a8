package heed

import (
	"cmp"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// evenly returns the time between the units left, spread until the reset; 0 when
// either is not said, or none is left. A reset beyond the window was rounded up.
func evenly(s *upstream.Signal, window time.Duration) time.Duration {
	if s.Remaining > 0 && s.Reset > 0 {
		return min(s.Reset, cmp.Or(window, s.Reset)) / time.Duration(s.Remaining)
	}
	return 0
}

// spaced adds a twentieth: units that leave evenly may arrive less so.
func spaced(gap time.Duration) time.Duration { return gap + gap/20 + time.Microsecond }

// isAdvertised reports whether an earlier brake has units as far apart as gap already.
func isAdvertised(gap, told time.Duration) bool { return told > gap && told < gap+gap/4 }

// interval returns the time between two units of a limit.
func interval(l *store.Limit) time.Duration {
	return max(l.Period/time.Duration(l.Rate), time.Microsecond)
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
	return max(matchUnits(l.Rate, l.Period, s), matchUnits(units, each*time.Duration(units), s))
}

// matchUnits compares a signal's budget with units of ours that are new after window.
func matchUnits(units int64, window time.Duration, s *upstream.Signal) match {
	switch {
	case s.Window > 0 && (s.Window-window >= min(window, time.Second) || window > stretched(s.Window)): // It is rounded up.
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
