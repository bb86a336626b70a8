package upstream_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/upstream"
)

// TestReset lists the forms of a reset under one name.
func TestReset(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"30":                                   30 * sec,
		"0":                                    0,
		"1.5":                                  1500 * ms,
		"1655120963":                           30 * sec,
		"1655120963.25":                        30250 * ms,
		"1655120963250":                        30250 * ms,
		"1655120963250000":                     30250 * ms,
		"1655120963250000000":                  30250 * ms,
		"1655120000":                           0,
		"253402300799":                         year,
		"2592000":                              30 * 24 * time.Hour,
		"99999999":                             year,
		"12ms":                                 12 * ms,
		"6m0s":                                 6 * time.Minute,
		"90 seconds":                           90 * sec,
		"1 seconds":                            sec,
		"2 minutes":                            2 * time.Minute,
		"1.5 s":                                1500 * ms,
		"90 Seconds":                           90 * sec,
		"90S":                                  90 * sec,
		"90 apples":                            unsaid,
		"90 ":                                  90 * sec,
		" seconds":                             unsaid,
		"-1 seconds":                           unsaid,
		"1e9 seconds":                          unsaid,
		"00:00:03":                             3 * sec,
		"1.00:00:03":                           24*time.Hour + 3*sec,
		"PT30S":                                30 * sec,
		"pt1m30.5s":                            90500 * ms,
		"P1DT1H":                               25 * time.Hour,
		"P1D":                                  24 * time.Hour,
		"P1M":                                  unsaid,
		"P":                                    unsaid,
		"PT":                                   unsaid,
		"-PT30S":                               unsaid,
		"01:02:03.5":                           time.Hour + 2*time.Minute + 3500*ms,
		"-00:00:03":                            unsaid,
		"00:00":                                unsaid,
		"1:2:3:4":                              unsaid,
		"::":                                   unsaid,
		"1d":                                   24 * time.Hour,
		"1d30s":                                24*time.Hour + 30*sec,
		"9999999h":                             unsaid,
		"999999h":                              year,
		"2022-06-13T11:49Z":                    7 * sec,
		"2022-06-13T11:49":                     7 * sec,
		"2022-06-13T11:49:23":                  30 * sec,
		"2022-06-13T11:49:23Z":                 30 * sec,
		"2022-06-13t11:49:23z":                 30 * sec,
		"2022-06-13T11:49:23.250Z":             30250 * ms,
		"2022-06-13T11:49:23.250000":           30250 * ms,
		"2022-06-13T13:49:23+02:00":            30 * sec,
		"2022-06-13T13:49:23+0200":             30 * sec,
		"2022-06-13T13:49:23+02":               30 * sec,
		"2022-06-13 11:49:23":                  30 * sec,
		"2022-06-13 11:49:23 UTC":              30 * sec,
		"2022-06-13 11:49:23 +0000 UTC":        30 * sec,
		"2022-06-13 13:49:23.5 +0200 CEST":     30500 * ms,
		"2022-06-13 11:49:23 +0000 UTC m=+7.5": 30 * sec,
		"2022-06-13 11:49:23 soon +0000":       unsaid,
		"2022-06-13T11:00:00Z":                 0,
		"Mon, 13 Jun 2022 11:49:23 GMT":        30 * sec,
		"mon, 13 jun 2022 11:49:23 gmt":        30 * sec,
		"13 Jun 2022 11:49:23 GMT":             30 * sec,
		"Mon, 13-Jun-2022 11:49:23 GMT":        30 * sec,
		"Mon, 13 Jun 2022 11:49:23":            30 * sec,
		"Mon, 13 Jun 2022 11:49:23 PST":        unsaid,
		"Thu, 01 Jan 1970 00:00:00 GMT":        0,
		"30;w=60":                              30 * sec,
		"30, 30":                               30 * sec,
		"":                                     unsaid,
		"-5":                                   unsaid,
		"soon":                                 unsaid,
		"2022-06-13":                           unsaid,
		"2022-13-45T99:99:99Z":                 unsaid,
		"d":                                    unsaid,
		"5d5d":                                 unsaid,
		"T":                                    unsaid,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			got := new(upstream.Reader).Read(response(200, "X-RateLimit-Limit", "10", "X-RateLimit-Reset", value), date)
			if got.Reset != want {
				t.Errorf("got %v, want %v", got.Reset, want)
			}
		})
	}
}

// TestCounts lists believable counts, and the budget with the smallest share.
func TestCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers          []string
		limit, remaining int64
	}{
		"more than an integer holds": {[]string{"X-RateLimit-Limit", "99999999999999999999", "X-RateLimit-Remaining", "5"}, unsaid, 5},
		"negative":                   {[]string{"X-RateLimit-Limit", "-10", "X-RateLimit-Remaining", "5"}, unsaid, 5},
		"a limit of nothing":         {[]string{"X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0"}, unsaid, unsaid},
		"words":                      {[]string{"X-RateLimit-Limit", "unlimited", "X-RateLimit-Remaining", "many"}, unsaid, unsaid},
		"a share too close for floats": {[]string{
			"X-RateLimit-Limit-A", "9007199254740994", "X-RateLimit-Remaining-A", "9007199254740993",
			"X-RateLimit-Limit-B", "9007199254740993", "X-RateLimit-Remaining-B", "9007199254740992"}, 9007199254740993, 9007199254740992},
		"more items than are read": {[]string{"X-RateLimit-Remaining", strings.Repeat("5, ", 32) + "1"}, unsaid, 5},
		"the greatest integers": {[]string{
			"X-RateLimit-Limit-A", "9223372036854775807", "X-RateLimit-Remaining-A", "9223372036854775806",
			"X-RateLimit-Limit-B", "9223372036854775807", "X-RateLimit-Remaining-B", "9223372036854775807"}, 9223372036854775807, 9223372036854775806},
		"a share before units of an unknown limit": {[]string{
			"X-RateLimit-Remaining-A", "1", "X-RateLimit-Limit-B", "10", "X-RateLimit-Remaining-B", "9"}, 10, 9},
		"none left of an unknown limit before a share": {[]string{
			"X-RateLimit-Remaining-A", "0", "X-RateLimit-Limit-B", "10", "X-RateLimit-Remaining-B", "1"}, unsaid, 0},
		"the header twice, alike":         {[]string{"X-RateLimit-Limit", "10", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Remaining", "5"}, 10, 5},
		"the header twice, differing":     {[]string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Remaining", "3"}, 10, 3},
		"more left than the limit":        {[]string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "15"}, 10, 15},
		"more used than the limit":        {[]string{"X-RateLimit-Limit", "10", "X-RateLimit-Used", "15"}, 10, 0},
		"used of an unknown limit":        {[]string{"X-RateLimit-Used", "15"}, unsaid, unsaid},
		"a percentage is no count":        {[]string{"X-RateLimit-Used-Percent", "15", "X-RateLimit-Limit", "100"}, 100, unsaid},
		"a fraction is not a unit":        {[]string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "2.9"}, 10, 2},
		"draft 07, without a limit":       {[]string{"RateLimit", "remaining=4, reset=5", "RateLimit-Policy", "100;w=60"}, 100, 4},
		"draft 07, of two policies":       {[]string{"RateLimit", "remaining=4, reset=5", "RateLimit-Policy", "100;w=60, 5;w=1"}, unsaid, 4},
		"draft 07, with a parameter":      {[]string{"RateLimit", "limit=10;w=1, remaining=4, reset=5"}, 10, 4},
		"draft 07, nothing of use":        {[]string{"RateLimit", "a=1, b=2"}, unsaid, unsaid},
		"draft 07, of the wrong types":    {[]string{"RateLimit", `limit="10", remaining=?1, reset=a`}, unsaid, unsaid},
		"draft 11, a key of its own":      {[]string{"RateLimit-Policy", `"p";q=10;w=1;pk=:c2Q=:`, "RateLimit", `"p";r=4;t=1;pk=:c2Q=:`}, 10, 4},
		"draft 11, the smallest of three": {[]string{"RateLimit-Policy", `"a";q=10, "b";q=100, "c";q=5`, "RateLimit", `"a";r=4, "b";r=30, "c";r=2`}, 100, 30},
		"draft 11, a policy of nothing":   {[]string{"RateLimit-Policy", `"a";q=0`, "RateLimit", `"a";r=4`}, unsaid, 4},
		"commas between thousands":        {[]string{"X-RateLimit-Limit-Tokens", "30,000", "X-RateLimit-Remaining-Tokens", "29,500"}, 30000, 29500},
		"commas, one of two lines":        {[]string{"X-RateLimit-Limit", "1,250", "X-RateLimit-Remaining", "1,000"}, 1250, 1000},
		"commas, millions":                {[]string{"X-RateLimit-Limit", "2,000,000", "X-RateLimit-Remaining", "999"}, 2000000, 999},
		"commas and a fraction":           {[]string{"X-RateLimit-Remaining", "1,200.50", "X-RateLimit-Limit", "6,000"}, 6000, 1200},
		"commas between list items":       {[]string{"X-RateLimit-Limit", "100,200", "X-RateLimit-Remaining", "99,150"}, 200, 150},
		"a window's word":                 {[]string{"X-RateLimit-Limit", "100/hour", "X-RateLimit-Remaining", "9"}, 100, 9},
		"a period for a limit":            {[]string{"X-Rate-Limit-Limit", "1m", "X-Rate-Limit-Remaining", "4"}, unsaid, 4},
		"an address":                      {[]string{"X-Rate-Limit-Request-Remote-Addr", "192.0.2.1:1234"}, unsaid, unsaid},
		"usage of nothing":                {[]string{"X-Shop-Call-Limit", "0/0"}, unsaid, unsaid},
		"usage of rubbish":                {[]string{"X-Shop-Call-Limit", "a/b, /, 1/, /1"}, unsaid, unsaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(upstream.Reader).Read(response(200, c.headers...), date)
			if got.Limit != c.limit || got.Remaining != c.remaining {
				t.Errorf("limit %d, remaining %d; want %d, %d", got.Limit, got.Remaining, c.limit, c.remaining)
			}
		})
	}
}

// TestDate lists the bases of a response's times.
func TestDate(t *testing.T) {
	t.Parallel()
	now := date.Add(-10 * sec)
	for name, c := range map[string]struct {
		dates []string
		want  time.Duration
	}{
		"the response's own":  {[]string{"Mon, 13 Jun 2022 11:48:53 GMT"}, 30 * sec},
		"none":                {nil, 40 * sec},
		"rubbish":             {[]string{"today"}, 40 * sec},
		"a clock never set":   {[]string{"Thu, 01 Jan 1970 00:00:00 GMT"}, 40 * sec},
		"the year 9999":       {[]string{"Fri, 31 Dec 9999 23:59:59 GMT"}, 40 * sec},
		"a clock that is off": {[]string{"Mon, 13 Jun 2022 11:47:53 GMT"}, 90 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := response(429, "Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT")
			resp.Header["Date"] = c.dates
			if got := new(upstream.Reader).Read(resp, now); got.Pause != c.want {
				t.Errorf("got %v, want %v", got.Pause, c.want)
			}
		})
	}
	// Where testing/synctest starts.
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	resp := response(429, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684805")
	resp.Header.Set("Date", start.Format(http.TimeFormat))
	if got := new(upstream.Reader).Read(resp, start.Add(time.Hour)); got.Pause != 5*sec {
		t.Errorf("in the year 2000: got %v, want 5s", got.Pause)
	}
	// Two digits of a year mean the nearest such year.
	resp = response(429, "Retry-After", "Friday, 13-Jun-70 11:49:23 GMT")
	resp.Header.Set("Date", "Fri, 13 Jun 2070 11:48:53 GMT")
	if got := new(upstream.Reader).Read(resp, date); got.Pause != 30*sec {
		t.Errorf("in the year 2070: got %v, want 30s", got.Pause)
	}
}
