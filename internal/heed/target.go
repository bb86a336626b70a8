package heed

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// target returns the index of the booking that a signal is about. A refusal is
// about the first. A success is about the booking of the limit that it names, or of
// one with slightly fewer units, and else about the first in its unit.
func target(s *upstream.Signal, bookings []Booking) int {
	if s.Refused || s.Limit <= 0 {
		return 0
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
			l := &b.Limits[j]
			switch {
			case s.Window > 0 && !isOf(l, s.Window):
			case isNamed(l, s):
				return i
			case near < 0 && (isNear(l.Rate, s.Limit) || isNear(l.Max(), s.Limit)):
				near = i
			}
		}
	}
	if near >= 0 {
		return near
	}
	return max(first, 0)
}

// isNamed reports whether a signal's limit has as many units as ours.
func isNamed(l *store.Limit, s *upstream.Signal) bool { return l.Rate == s.Limit || l.Max() == s.Limit }

// isNear reports whether ours are fewer units than the upstream's, by a margin.
func isNear(units, limit int64) bool { return units < limit && units >= limit-margin(limit) }

// margin returns the maximum number of units that users leave to be safe.
func margin(limit int64) int64 { return max(limit/4, 1) }

// isOf reports whether a limit has this window, which [weir.Limit.Stretch] may have
// lengthened.
func isOf(l *store.Limit, window time.Duration) bool {
	return l.Period >= window && l.Period <= stretched(window)
}

// stretched returns the longest period of ours that still stands for a window.
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
