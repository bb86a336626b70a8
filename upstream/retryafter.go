package upstream

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// precision orders the kinds of Retry-After headers.
type precision int

const (
	milliseconds precision = iota // Retry-After-Ms, X-Ms-Retry-After-Ms, …
	standard                      // Retry-After
	other                         // X-Retry-After, X-RateLimit-Retry-After, …
)

// retryAfter returns the duration in the most precise Retry-After header; 0 without
// one. The longest value of a repeated header or a list wins, in any order of proxies.
func retryAfter(h http.Header, date time.Time) time.Duration {
	var found [other + 1]time.Duration
	names := 0
	for name, values := range h {
		if !strings.Contains(name, inRetryAfter) || len(name) > maxTimeLength || names == maxNames {
			continue
		}
		names++
		p, unit, ok := retryAfterName(name)
		if !ok {
			continue
		}
		found[p] = max(found[p], longest(oneLine(values), unit, date))
	}
	// Traefik, Wildberries, and Walmart by two names.
	last := cmp.Or(first(h["X-Retry-In"]), first(h["X-Ratelimit-Retry"]), first(h["X-Next-Replenish-Time"]), first(h["X-Next-Replenishment-Time"]))
	return cmp.Or(found[milliseconds], found[standard], found[other], longest(last, time.Second, date))
}

func retryAfterName(name string) (precision, time.Duration, bool) {
	name = strings.ToLower(name)
	unit := time.Second
	if i := strings.LastIndexByte(name, '-'); units[name[i+1:]] > 0 {
		name, unit = name[:i], units[name[i+1:]]
	}
	before, budget, found := strings.Cut(name, "retry-after")
	if !found || budget != "" && before != "" && !strings.HasSuffix(before, "limit-") || isInformational(name) { // Budgets: NestJS, Phemex.
		return 0, 0, false
	}
	switch {
	case unit == time.Millisecond, name == "x-amz-retry-after": // in ms
		return milliseconds, time.Millisecond, true
	case name == "retry-after":
		return standard, unit, true
	}
	return other, unit, true
}

// longest returns the longest time of a list; 0 without one. A date has a comma of its own.
func longest(list string, unit time.Duration, date time.Time) (found time.Duration) {
	if list == "" {
		return 0
	}
	before := ""
	for part := range strings.SplitSeq(list, ",") {
		d, ok := parseRetryAfter(strings.TrimSpace(part), unit, date)
		if !ok {
			d, _ = parseRetryAfter(strings.TrimSpace(before+","+part), unit, date)
		}
		found, before = max(found, d), part
	}
	return found
}

// parseRetryAfter reads a duration or a date. A number is a moment only within a
// day of date: as a duration it would be 15 years.
func parseRetryAfter(s string, unit time.Duration, date time.Time) (time.Duration, bool) {
	if d, ok := parseDecimal(s); ok && len(s) <= maxTimeLength {
		if t, ok := d.epoch(unit); ok && t.Sub(date).Abs() <= 24*time.Hour {
			return span(date, t), true
		}
	}
	return within(s, unit, date)
}
