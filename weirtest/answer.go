package weirtest

import (
	"time"

	"github.com/goweir/weir"
)

// Answer is what a Provider decided about a request, for its headers.
type Answer struct {
	Now     time.Time // the instant of the decision
	Key     string
	Refused Refusal
	// RetryAfter, of a refusal, is how long until the same request is admitted
	// if nobody else comes; 0 when that is not known, store.Never when it is
	// never.
	RetryAfter time.Duration
	// Limits are the states of the key's limits after the decision, in the
	// order of the config.
	Limits []LimitState
}

// LimitState is the state of one limit.
type LimitState struct {
	Limit weir.Limit
	// Remaining is how many units fit now, never below 0 and at most Limit.Max.
	Remaining int64
	// ResetAfter is how long until the limit is as if never used: the end of a
	// fixed or aligned window that something was used of; of a sliding window
	// when the last unit is free again; of a token bucket when it is full.
	ResetAfter time.Duration
}

// Tightest returns the limit with the smallest share remaining, the first of
// several; false when there are no limits.
func (a Answer) Tightest() (LimitState, bool) {
	if len(a.Limits) == 0 {
		return LimitState{}, false
	}
	best := a.Limits[0]
	for _, s := range a.Limits[1:] {
		// Shares of MaxUnits differ by more than what a float64 loses only when
		// they are practically equal, and then it does not matter which it is.
		if share(s) < share(best) {
			best = s
		}
	}
	return best, true
}

func share(s LimitState) float64 { return float64(s.Remaining) / float64(s.Limit.Max()) }
