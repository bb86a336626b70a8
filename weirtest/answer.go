package weirtest

import (
	"time"

	"github.com/goweir/weir"
)

// Answer is a Provider's decision about one request.
type Answer struct {
	Now     time.Time // the instant of the decision
	Key     string
	Refused Refusal
	// RetryAfter is set by a refusal: the time until the same request is admitted if
	// no other comes. 0: unknown. store.Never: no waiting helps.
	RetryAfter time.Duration
	// Limits are the states of the key's limits after the decision, in the order of
	// the config.
	Limits []LimitState
}

// LimitState is the state of one limit.
type LimitState struct {
	Limit weir.Limit
	// Remaining is the number of units that fit now, from 0 to Limit.Max.
	Remaining int64
	// ResetAfter is the time until the limit is as if never used. A fixed or aligned
	// window ends then, the last unit of a sliding window is free again, a token
	// bucket is full. 0: unused.
	ResetAfter time.Duration
}

// Tightest returns the limit with the smallest share remaining, the first among
// equals. Without limits it returns false.
func (a Answer) Tightest() (LimitState, bool) {
	if len(a.Limits) == 0 {
		return LimitState{}, false
	}
	best := a.Limits[0]
	for _, s := range a.Limits[1:] {
		// A float64 confuses only shares that are practically equal.
		if share(s) < share(best) {
			best = s
		}
	}
	return best, true
}

func share(s LimitState) float64 { return float64(s.Remaining) / float64(s.Limit.Max()) }
