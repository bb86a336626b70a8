package weirtest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

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
