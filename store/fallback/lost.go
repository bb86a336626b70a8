package fallback

import (
	"time"

	"github.com/goweir/weir/store"
)

// lost returns the units that the primary has forgotten of those in use, which
// are counted in parts of its limit. What both know is rounded alike; where
// that can be off by one, one is not taken for lost.
func lost(parts, part int64, l *store.Limit, primary store.ChargeState) int64 {
	most := l.Max()
	parts -= part - scale(free(l, primary), part, most)
	if part != most && primary.ResetAfter > 0 {
		parts--
	}
	return scale(max(parts, 0), most, part)
}

// unfaded returns how many of the units that a sliding counter was known to have in
// use some time ago surely are now, when it is as if never used after reset. How many
// of them were taken in the window before, and fade, it did not tell: all that may be.
func unfaded(units int64, period, reset, ago time.Duration) int64 {
	left, was := reset-period, reset+ago-period // of the window that it was in
	switch {
	case units <= 0 || was <= 0: // It had none but of the window before.
		return units
	case left <= 0 || was > period+period/8: // That has ended; clocks are read one after the other.
		return 0
	}
	return units - scale(units, int64(was-left), int64(was))
}
