package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MaxPause is the longest pause when a [Reader] sets none.
const MaxPause = 15 * time.Minute

// Signal is what a response says of the upstream's limits.
type Signal struct {
	// Refused says that the upstream refused the request because of its
	// limits: a 429, or one of 403, 418, 420, 503 and 529 together with a
	// Retry-After or a budget of which nothing is left.
	Refused bool
	// Pause is how long nothing must be sent under the same key. 0: not at
	// all, or nobody said how long. Never negative, at most Reader.MaxPause.
	Pause time.Duration
	// Budget is the one with the smallest share left, of those the response
	// speaks of, but for those of calls under way. Of its fields those not said
	// are as [Budget] says.
	Budget
}

// Reader reads responses. The zero value is ready to use. Its fields must not
// be changed while it is in use; it is then safe for concurrent use.
type Reader struct {
	// MaxPause is the longest pause that an upstream is believed. 0: 15
	// minutes.
	MaxPause time.Duration
	// Dialects names the dialect that is read in place of [Common] when a host
	// answers: "api.example.com" or "api.example.com:8443" for one host,
	// "*.example.com" for all below it. In lower case; the longest that
	// matches wins. Retry-After is read whatever the dialect. Nil: Common for
	// every host.
	Dialects map[string]Dialect
	// Skip leaves budgets of some names or units out of Signal.Budget, as those that
	// count tokens where we count requests. Which of them is used up pauses all the
	// same, as nothing is admitted then. Nil: none is left out.
	Skip func(name string) bool
}

// Check returns an error that names the field that is wrong, or nil.
func (r *Reader) Check() error {
	if r.MaxPause < 0 {
		return fmt.Errorf("upstream: Reader.MaxPause: want 0 or more, got %v", r.MaxPause)
	}
	for host, d := range r.Dialects {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "*/ ") {
			return fmt.Errorf("upstream: Reader.Dialects: want a host in lower case such as api.example.com or *.example.com, got %q", host)
		}
		if d == nil {
			return errors.New("upstream: Reader.Dialects: want a dialect for " + host + ", got nil")
		}
	}
	return nil
}

// Speaks reports whether resp may say something of the upstream's limits. Of most
// responses Read would say nothing, which this sees in a fraction of the time.
func (r *Reader) Speaks(resp *http.Response) bool {
	if resp == nil {
		return false
	}
	if resp.StatusCode == http.StatusTooManyRequests || speaks(resp.Header) {
		return true
	}
	_, common := r.dialect(resp).(Common)
	return !common
}

// Read returns what resp says of the upstream's limits, seen from the Date of
// the response, or from now when it has none that can be true; a zero now is the
// present. It reads the status and the headers only, and changes nothing.
//
// What is malformed or can't be true is ignored, and no time is negative or
// beyond a year. A response from a cache (its Age is not 0, or it has
// X-From-Cache) tells of the past: it says nothing, and is no refusal.
func (r *Reader) Read(resp *http.Response, now time.Time) Signal {
	s := Signal{Budget: unsaid("")}
	if !r.Speaks(resp) || cached(resp.Header) {
		return s
	}
	s.Refused = resp.StatusCode == http.StatusTooManyRequests
	dialect := r.dialect(resp)
	if now.IsZero() {
		now = time.Now()
	}
	date := dateOf(resp.Header, now)
	budgets := slices.Clone(dialect.Budgets(resp.Header, date))
	for i := range budgets {
		budgets[i] = budgets[i].sane()
	}
	s.Budget = r.tightest(budgets)
	if resp.StatusCode < http.StatusBadRequest {
		// Whoever has as many calls under way as may be needs no pause.
		budgets = slices.DeleteFunc(budgets, func(b Budget) bool { return !b.isRate() })
	}
	after := retryAfter(resp.Header, date)
	exhausted := slices.ContainsFunc(budgets, Budget.exhausted)
	if ambiguous(resp.StatusCode) {
		s.Refused = after > 0 || exhausted
	}
	if s.Refused || exhausted {
		s.Pause = pause(s.Refused, resp.StatusCode, after, budgets)
	}
	s.Pause = min(s.Pause, r.maxPause())
	return s
}

// tightest returns the budget with the smallest share left, of those that are not
// skipped.
func (r *Reader) tightest(budgets []Budget) Budget {
	found, b := false, unsaid("")
	for i := range budgets {
		if !budgets[i].isRate() || r.skips(&budgets[i]) || found && compare(budgets[i], b) >= 0 {
			continue
		}
		found, b = true, budgets[i]
	}
	return b
}

func (r *Reader) skips(b *Budget) bool {
	return r.Skip != nil && (r.Skip(b.Name) || b.Unit != "" && r.Skip(b.Unit))
}

// RetryAfter returns for how long a response of any status asks not to send the
// same request again, by its Retry-After alone, seen from the same time as Read:
// 0 when it doesn't ask, at most Reader.MaxPause. That of a 500 says nothing of
// limits, so that Read has no pause for other requests.
func (r *Reader) RetryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp == nil || !speaks(resp.Header) || cached(resp.Header) {
		return 0
	}
	if now.IsZero() {
		now = time.Now()
	}
	return min(retryAfter(resp.Header, dateOf(resp.Header, now)), r.maxPause())
}

// pause returns how long to wait after a refusal, or with nothing left.
//
// Retry-After comes before what the budgets say, as the drafts demand. On a
// success it is read only when nothing is left, for some send it with each
// answer; with a 202 and a redirect it is about something else, when to ask for
// the outcome.
func pause(refused bool, status int, after time.Duration, budgets []Budget) time.Duration {
	about := refused || status != http.StatusAccepted && status/100 != 3
	if after > 0 && about {
		return after
	}
	var renewed, unknown time.Duration
	for _, b := range budgets {
		switch b.Remaining {
		case 0:
			renewed = max(renewed, b.Reset)
		case -1:
			unknown = max(unknown, b.Reset)
		}
	}
	if renewed == 0 && refused {
		// A refusal that says only when the next units come.
		return unknown
	}
	return renewed
}

// ambiguous reports whether a status is a refusal by a limit only if something
// else says so too. 420 and 529 are nobody's standard: "Enhance Your Calm" and
// "overloaded".
func ambiguous(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusTeapot, http.StatusServiceUnavailable, 420, 529:
		return true
	}
	return false
}

// cached reports whether a response was stored before it came here. Of several
// values of Age the first counts: RFC 9111, section 5.1.
func cached(h http.Header) bool {
	if h.Get("X-From-Cache") != "" {
		return true
	}
	value, _, _ := strings.Cut(h.Get("Age"), ",")
	age, ok := parseDecimal(strings.TrimSpace(value))
	return ok && age.whole > 0
}

// speaks reports whether any header may be about limits. Most responses have
// none, and cost no allocation.
func speaks(h http.Header) bool {
	for name := range h {
		if wordLimit.in(name) || wordRetryAfter.in(name) {
			return true
		}
	}
	return false
}

func (r *Reader) maxPause() time.Duration {
	if r == nil || r.MaxPause <= 0 {
		return MaxPause
	}
	return r.MaxPause
}
