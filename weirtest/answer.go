package weirtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// Answer is a Provider's decision about one request.
type Answer struct {
	Now     time.Time // the instant of the decision
	Key     string    // the counted identity: see ProviderConfig.Key
	Refused Refusal   // the reason, if any
	// RetryAfter is set by a refusal: the time until the same request is admitted if
	// no other comes. 0: unknown. store.Never: no waiting helps.
	RetryAfter time.Duration
	// Limits are the states of the key's limits after the decision, in the order of
	// the config.
	Limits []LimitState
}

// LimitState is the state of one limit.
type LimitState struct {
	Limit weir.Limit // as the Provider has it now
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
	// A float64 confuses only shares that are practically equal.
	share := func(s LimitState) float64 { return float64(s.Remaining) / float64(s.Limit.Max()) }
	return slices.MinFunc(a.Limits, func(x, y LimitState) int { return cmp.Compare(share(x), share(y)) }), true
}

// RetryAfterForm is the form of Retry-After in a refusal. Every form rounds up: a
// client that waits for so long is not too early.
type RetryAfterForm uint8

const (
	// RetryAfterSeconds is Retry-After in whole seconds, at least 1.
	RetryAfterSeconds RetryAfterForm = iota
	// RetryAfterNone is no header.
	RetryAfterNone
	// RetryAfterFraction is Retry-After in seconds with three decimals: "1.480".
	RetryAfterFraction
	// RetryAfterMillis is retry-after-ms in milliseconds, with Retry-After in
	// whole seconds.
	RetryAfterMillis
	// RetryAfterDate is Retry-After as an HTTP date.
	RetryAfterDate

	retryAfterForms
)

var retryAfterFormNames = [retryAfterForms]string{"seconds", "none", "fraction", "millis", "date"}

// String returns the form in lower case.
func (f RetryAfterForm) String() string {
	if f >= retryAfterForms {
		return "unknown"
	}
	return retryAfterFormNames[f]
}

// set writes the answer's RetryAfter, if it is known.
func (f RetryAfterForm) set(h http.Header, a Answer) {
	d := a.RetryAfter
	if d <= 0 || d == store.Never {
		return
	}
	switch f {
	case RetryAfterSeconds:
		h.Set("Retry-After", decimal(divUp(d, time.Second)))
	case RetryAfterFraction:
		ms := divUp(d, time.Millisecond)
		h.Set("Retry-After", fmt.Sprintf("%d.%03d", ms/1000, ms%1000))
	case RetryAfterMillis:
		h.Set("Retry-After-Ms", decimal(divUp(d, time.Millisecond)))
		h.Set("Retry-After", decimal(divUp(d, time.Second)))
	case RetryAfterDate:
		h.Set("Retry-After", a.Now.Add(d).Add(time.Second-1).UTC().Format(http.TimeFormat))
	}
}

// divUp returns d > 0 in whole units, rounded up.
func divUp(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
