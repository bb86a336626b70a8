package upstream

import (
	"net/http"
	"strings"
	"time"
)

// maxTimeLength bounds the text of a time, in bytes.
const maxTimeLength = 128

// firstEpoch is the smallest number of seconds that is a moment since the Unix
// epoch: as a duration it would be over 15 years. A number from 1000 times that on
// is a moment in milliseconds, and so on. The year 1985 in one unit is the year
// 17800 in the next larger unit, so no plausible time is misread.
const firstEpoch = 500_000_000

// until reads s as a duration from date. s is a number of units, a moment since the Unix
// epoch in any unit and at most near to date, a duration, an ISO 8601 time or an HTTP date.
// A moment in the past gives 0. The result is at most maxTime.
func until(s string, unit, near time.Duration, date time.Time) (time.Duration, bool) {
	if d, ok := parseDecimal(s); ok && len(s) <= maxTimeLength {
		if t, ok := d.epoch(unit); ok && t.Sub(date).Abs() <= near {
			return span(date, t), true
		}
	}
	return within(s, unit, date)
}

// within is until with numbers as durations, never as moments.
func within(s string, unit time.Duration, date time.Time) (time.Duration, bool) {
	if s == "" || len(s) > maxTimeLength {
		return 0, false
	}
	if d, ok := parseDecimal(s); ok {
		return d.times(unit), true
	}
	s = strings.ToLower(s)
	if number, word, _ := strings.Cut(s, " "); unitOf(word) > 0 { // GetResponse: 1 seconds
		return within(number, unitOf(word), date)
	}
	if d, ok := parseDuration(s); ok {
		return d, true
	}
	t, ok := parseTime(s, date)
	return span(date, t), ok
}

// span returns the time from one moment to another, between 0 and maxTime.
func span(from, to time.Time) time.Duration {
	return min(max(to.Sub(from), 0), maxTime)
}

// epoch reads d as a moment since the Unix epoch, if it is large enough. The unit
// of the moment is the given one or smaller.
func (d decimal) epoch(unit time.Duration) (time.Time, bool) {
	perSecond := uint64(1)
	if unit > 0 && unit < time.Second {
		perSecond = uint64(time.Second / unit)
	}
	if d.whole/perSecond < firstEpoch {
		return time.Time{}, false
	}
	for d.whole/perSecond >= 1000*firstEpoch && perSecond < uint64(time.Second) {
		perSecond *= 1000
	}
	seconds, rest := d.whole/perSecond, d.whole%perSecond
	nanos := rest*(uint64(time.Second)/perSecond) + uint64(d.nanos)/perSecond
	return time.Unix(int64(seconds), int64(nanos)), true
}

// parseDuration reads the durations of time.ParseDuration without a sign, days, 00:01:30,
// 1.00:01:30 (.NET, with a day) and those of ISO 8601 without months, in lower case: p1dt30s.
func parseDuration(s string) (time.Duration, bool) {
	if iso, ok := strings.CutPrefix(s, "p"); ok {
		day, clock, _ := strings.Cut(iso, "t")
		if s = day + clock; strings.Trim(day, "0123456789.d") != "" {
			return 0, false
		}
	}
	if s == "" || !isDigits(s[:1]) {
		return 0, false
	}
	if clock := strings.Split(s, ":"); len(clock) == 3 { // Azure Resource Graph
		s = strings.Replace(clock[0], ".", "d", 1) + "h" + clock[1] + "m" + clock[2] + "s"
	}
	var days time.Duration
	if n, rest, ok := strings.Cut(s, "d"); ok {
		d, ok := parseDecimal(n)
		if !ok {
			return 0, false
		}
		if days, s = d.times(24*time.Hour), rest; s == "" {
			return days, true
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, false
	}
	return min(days+min(d, maxTime), maxTime), true
}

// twoDigits is the only layout with a year of two digits: RFC 850.
const twoDigits = "2-Jan-06 15:04:05"

// dates are the forms of dates, without a weekday, GMT or UTC: RFC 9110, cookies, email, asctime, JavaScript, WSO2. isoTimes
// are those of ISO 8601, to the minute or finer.
var (
	dates    = []string{"2 Jan 2006 15:04:05", twoDigits, "2-Jan-2006 15:04:05", "2 Jan 2006 15:04:05 -0700", "Jan _2 15:04:05 2006", "Jan 2 2006 15:04:05 GMT-0700", "2006-Jan-2 15:04:05-0700"}
	isoTimes = []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04Z0700",
	}
)

// parseTime reads an ISO 8601 time or an HTTP date. A time without a zone is UTC.
func parseTime(s string, date time.Time) (time.Time, bool) {
	s, layouts := strings.ToUpper(s), dates
	switch {
	case len(s) < len("2006-01-02T15:04"):
		return time.Time{}, false
	case s[4] == '-' && (s[10] == 'T' || s[10] == ' '):
		// Go's Time.String writes 2022-06-13 13:50:00 +0200 CEST m=+0.5.
		parts := append(strings.Fields(s[11:]), "", "")
		s = s[:10] + "T" + parts[0] + strings.NewReplacer("UTC", "Z", "GMT", "Z").Replace(parts[1])
		layouts = isoTimes
	default:
		s, _, _ = strings.Cut(s, " (")
		s = strings.TrimSpace(strings.TrimLeft(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ,")) // without its weekday
		s = strings.TrimSuffix(strings.TrimSuffix(s, " GMT"), " UTC")
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			if layout == twoDigits && date.Sub(t) > 50*365*24*time.Hour {
				t = t.AddDate(100, 0, 0) // the nearest such year: RFC 9110, section 5.6.7
			}
			return t, true
		}
	}
	return time.Time{}, false
}

// The Date of a response is believed between these. Zero and the start of a clock
// that was never set lie before; testing/synctest starts on the first day.
var (
	firstDate = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	lastDate  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// dateOf returns the response's Date, the base of its other times. Without a
// plausible Date it returns now, and the present if now is zero.
func dateOf(h http.Header, now time.Time) time.Time {
	if now.IsZero() {
		now = time.Now()
	}
	if s := first(h["Date"]); s != "" && len(s) <= maxTimeLength {
		if t, err := http.ParseTime(s); err == nil && !t.Before(firstDate) && !t.After(lastDate) {
			return t
		}
	}
	return now
}
