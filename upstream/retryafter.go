package upstream

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// retryAfter returns the longest time in the most precise Retry-After headers, 0 without one.
// Retry-After-Ms and the like are the most precise, then Retry-After itself.
func retryAfter(h http.Header, date time.Time) time.Duration {
	var precise, standard, other time.Duration
	names := 0
	for name, values := range h {
		if !strings.Contains(name, "etry") || len(name) > maxTimeLength || names == maxNames {
			continue
		}
		names++
		lower, unit := strings.ToLower(name), time.Second
		name = cmp.Or(clearer[lower], lower)
		if i := strings.LastIndexByte(name, '-'); units[name[i+1:]] > 0 {
			name, unit = name[:i], units[name[i+1:]]
		}
		before, after, _ := strings.Cut(name, "retry")
		budget, found := strings.CutPrefix(strings.TrimPrefix(after, "-"), "after")
		if !found || budget != "" && before != "" && !strings.HasSuffix(before, "limit-") || isInformational(name) { // Budgets: NestJS, Phemex.
			continue
		}
		switch d := longest(oneLine(values), unit, date); {
		case unit == time.Millisecond:
			precise = max(precise, d)
		case before == "" && budget == "":
			standard = max(standard, d)
		default:
			other = max(other, d)
		}
	}
	// Traefik, Wildberries, Django REST framework before 3, and Walmart by two names.
	last := cmp.Or(first(h["X-Retry-In"]), first(h["X-Ratelimit-Retry"]), first(h["X-Throttle-Wait-Seconds"]),
		first(h["X-Next-Replenish-Time"]), first(h["X-Next-Replenishment-Time"]))
	return cmp.Or(precise, standard, other, longest(last, time.Second, date))
}

// longest returns the longest time of a list; 0 without one. A date may lack the weekday
// before its comma. A number is a moment only within a day of date: as a duration it would
// be 15 years.
func longest(list string, unit time.Duration, date time.Time) (found time.Duration) {
	for part := range strings.SplitSeq(list, ",") {
		d, _ := until(strings.Trim(part, " \t\""), unit, 24*time.Hour, date)
		found = max(found, d)
	}
	return found
}
