package heed

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// evenly returns the time between the units left, spread until the reset; 0 when
// either is not said, or none is left.
func evenly(s *upstream.Signal) time.Duration {
	if s.Remaining > 0 && s.Reset > 0 {
		return s.Reset / time.Duration(s.Remaining)
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
