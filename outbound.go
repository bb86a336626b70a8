package weir

import (
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// The margin of an Outbound limit: a part of the period within bounds.
const (
	marginPart = 25
	minMargin  = 50 * time.Millisecond
	maxMargin  = time.Second
)

// Outbound returns the limit for calls to a provider that allows n per period:
// "25 per 5 s" is Outbound(25, 5*time.Second). A provider with several limits gets
// one each, together in Config.Limits. Like [Per], Outbound checks nothing.
//
//	n per period                              the limit
//	1 per second or less, in up to a minute   evenly spaced: a call costs at most 1
//	any other                                 a sliding window: n calls leave at once
//
// weir counts departures, a provider counts arrivals. So the window, or the space
// between two calls, is longer by a margin: 4 %, at least 50 ms and at most 1 s. No
// call arrives too early if times in flight vary by less than the margin.
// [Limit.Stretch] adds to it.
//
// The provider may count in windows of any kind, or by a token bucket of n units. For
// a smaller bucket, or two weighted windows, see docs/outbound.md.
func Outbound(n int64, period time.Duration) Limit {
	l := Per(n, period)
	if n > 1 && n <= int64(period/time.Second) && period <= time.Minute {
		return Outbound(1, (period / time.Duration(n)).Truncate(time.Microsecond)).WithName(l.Policy())
	}
	return l.By(SlidingWindow).Stretch(margin(period))
}

// margin returns the margin of a window, in whole microseconds. A window that is too
// short to be valid gets none.
func margin(window time.Duration) time.Duration {
	if window < time.Microsecond {
		return 0
	}
	return min(max(window/marginPart, minMargin), maxMargin).Truncate(time.Microsecond)
}

// checkOutbound refuses GCRA limits without a Burst, such as [Per] returns. They
// would let nearly two periods' units leave in one period.
func checkOutbound(levels []transportLevel) error {
	for i := range levels {
		v := &levels[i]
		for _, l := range v.Limiter.limits {
			if l.Algorithm != GCRA || l.Burst != 0 {
				continue
			}
			return &store.ConfigError{
				Field: "TransportConfig." + v.place + "Limiter",
				Want:  fmt.Sprintf("Outbound(%d, %v) for a provider that allows %[1]d per %[2]v, or WithBurst(n) for its token bucket of n", l.Rate, l.Period),
				Got:   fmt.Sprintf("%s by GCRA without a Burst, which lets up to %d leave in %v and has no margin", l, 2*l.Rate-1, l.Period),
			}
		}
	}
	return nil
}
