package upstream

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Signal is the state of an upstream's limits by one response.
type Signal struct {
	// Refused: the upstream refused the request because of its limits. The status is
	// 429, or it is 403, 418, 420, 503 or a 5xx of no standard together with a Retry-After or a budget with
	// nothing left, or the body (see Reader.Bodies), X-Amzn-Errortype and the like of an error say so.
	Refused bool
	// Pause is how long to send nothing under the same key. 0: no pause, or a refusal
	// without a duration. Never negative, at most Reader.MaxPause.
	Pause time.Duration
	// Cause says which limit refused. Empty without a refusal.
	Cause Cause
	// NoRetry is the reason why a further attempt of the same request is useless:
	// "X-Should-Retry" or "Stripe-Should-Retry", the headers that say false, "payment
	// required" (402), or a word such as "insufficient_quota". Empty: none.
	NoRetry string
	// Budget is the budget with the smallest share left. Budgets of calls under way
	// do not count, and informational ones only without another. Missing values are as
	// [Budget] says.
	Budget
}

// pause returns how long to wait after a refusal, or with nothing left.
//
// Retry-After comes before the budgets, as the drafts demand. A 202 or a redirect
// with Retry-After says when to ask for the outcome, so it is ignored there.
func pause(refused bool, status int, after time.Duration, budgets []Budget) time.Duration {
	about := refused || status != http.StatusAccepted && status/100 != 3
	if after > 0 && about {
		return after
	}
	renewed, unknown := time.Duration(-1), time.Duration(0)
	for _, b := range budgets {
		switch {
		case b.Informational:
		case b.Remaining == 0:
			renewed = max(renewed, b.Reset)
		case b.Remaining < 0:
			unknown = max(unknown, b.Reset)
		}
	}
	if renewed < 0 && refused { // It names only the time of the next units.
		return unknown
	}
	return max(renewed, 0)
}

// ambiguous reports whether a status needs further evidence to be a refusal by a limit. Of those in no
// standard 420 ("Enhance Your Calm") does, and all from 500 on: 509 (OpenStreetMap), 529 (Anthropic), 599 (OpenSea).
func ambiguous(status int) bool {
	return slices.Contains([]int{http.StatusForbidden, http.StatusTeapot, 420, http.StatusServiceUnavailable}, status) || status > 500 && http.StatusText(status) == ""
}

// cached reports whether a response comes from a cache. The first value of Age
// counts: RFC 9111, section 5.1.
func cached(h http.Header) bool {
	value, _, _ := strings.Cut(first(h["Age"]), ",")
	age, ok := parseDecimal(strings.TrimSpace(value))
	return ok && age.whole > 0 || first(h["X-From-Cache"]) != ""
}

// speaks reports whether any header may be about limits. It does not allocate.
func speaks(h http.Header) bool {
	for name := range h {
		if !isUsual(name) && (mayLimit(name) || strings.Contains(name, "etry")) { // Retry-After
			return true
		}
	}
	return false
}
