package upstream_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goweir/weir/upstream"
)

// facebook reads X-App-Usage: JSON with the used percentage.
type facebook struct{}

func (facebook) Budgets(h http.Header, _ time.Time) []upstream.Budget {
	var percent int64
	_, after, ok := strings.Cut(h.Get("X-App-Usage"), `"call_count":`)
	if _, err := fmt.Sscan(after, &percent); !ok || err != nil {
		return nil
	}
	return []upstream.Budget{{Name: "calls", Limit: 100, Remaining: max(100-percent, 0), Reset: -1}}
}

// A dialect of the caller's own for one host.
func ExampleDialect() {
	reader := upstream.Reader{Dialects: map[string]upstream.Dialect{
		"graph.facebook.com": facebook{},
	}}
	if err := reader.Check(); err != nil {
		fmt.Println(err)
		return
	}
	resp := &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"X-App-Usage": {`{"call_count":72,"total_time":5,"total_cputime":3}`}},
		Request:    &http.Request{URL: &url.URL{Scheme: "https", Host: "graph.facebook.com"}},
	}
	s := reader.Read(resp, time.Now())
	fmt.Println(s.Remaining, "of", s.Limit, s.Name)
	// Output: 28 of 100 calls
}

// Headers with unusual names or units need no code.
func ExampleFields() {
	bybit := upstream.Fields{
		Limit:     "X-Bapi-Limit",
		Remaining: "X-Bapi-Limit-Status",
		Reset:     "X-Bapi-Limit-Reset-Timestamp",
		Unit:      time.Millisecond,
	}
	reader := upstream.Reader{Dialects: map[string]upstream.Dialect{"*.bybit.com": bybit}}
	resp := &http.Response{
		StatusCode: http.StatusForbidden,
		Header: http.Header{
			"X-Bapi-Limit":                 {"50"},
			"X-Bapi-Limit-Status":          {"0"},
			"X-Bapi-Limit-Reset-Timestamp": {"1655120934250"},
			"Date":                         {"Mon, 13 Jun 2022 11:48:53 GMT"},
		},
		Request: &http.Request{URL: &url.URL{Scheme: "https", Host: "api.bybit.com"}},
	}
	s := reader.Read(resp, time.Now())
	fmt.Println(s.Refused, s.Pause)
	// Output: true 1.25s
}

func ExampleReader_Read() {
	resp := &http.Response{
		StatusCode: http.StatusTooManyRequests,
		Header: http.Header{
			"Ratelimit-Policy": {`"hour";q=1000;w=3600`},
			"Ratelimit":        {`"hour";r=0;t=90`},
		},
	}
	var reader upstream.Reader
	s := reader.Read(resp, time.Now())
	fmt.Println(s.Refused, s.Pause, s.Remaining, "of", s.Limit, "in", s.Window)
	// Output: true 1m30s 0 of 1000 in 1h0m0s
}

// An upstream that says in its own way which limit refused.
func ExampleReader_amend() {
	reader := upstream.Reader{Amend: func(resp *http.Response, s *upstream.Signal) {
		if resp.Header.Get("X-Quota-Hit") == "org" {
			s.Cause.Limit = "organisation" // the Name of a limiter
		}
	}}
	resp := &http.Response{StatusCode: 429, Header: http.Header{"X-Quota-Hit": {"org"}, "Retry-After": {"5"}}}
	signal := reader.Read(resp, time.Time{})
	fmt.Println(signal.Cause.Limit, signal.Pause)
	// Output: organisation 5s
}
