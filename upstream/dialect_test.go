package upstream_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/upstream"
)

// fixed is a dialect with the same budgets for every response.
type fixed []upstream.Budget

func (f fixed) Budgets(http.Header, time.Time) []upstream.Budget { return f }

func TestDialectOfHost(t *testing.T) {
	t.Parallel()
	limit := func(n int64) upstream.Dialect { return fixed{{Limit: n, Remaining: 1, Reset: -1}} }
	r := &upstream.Reader{Dialects: map[string]upstream.Dialect{
		"api.example.com":      limit(1),
		"api.example.com:8443": limit(2),
		"*.example.com":        limit(3),
		"*.eu.example.com":     limit(4),
		"[2001:db8::1]:80":     limit(5),
	}}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int64{
		"https://api.example.com/":         1,
		"https://API.Example.com/":         1,
		"https://api.example.com./":        1,
		"https://api.example.com:443/":     1,
		"https://api.example.com:8443/":    2,
		"https://www.example.com/":         3,
		"https://a.b.example.com/":         3,
		"https://a.eu.example.com/":        4,
		"https://eu.example.com/":          3,
		"http://[2001:db8::1]:80/":         5,
		"https://example.com/":             99,
		"https://notexample.com/":          99,
		"https://example.com.evil.test/":   99,
		"https://api.example.com.evil.io/": 99,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(host)
			if err != nil {
				t.Fatal(err)
			}
			resp := response(200, "X-RateLimit-Limit", "99")
			resp.Request = &http.Request{URL: u}
			if got := r.Read(resp, date).Limit; got != want {
				t.Errorf("got the dialect of limit %d, want %d", got, want)
			}
		})
	}
}

// TestUncheckedDialects: keys that Check refuses change nothing.
func TestUncheckedDialects(t *testing.T) {
	t.Parallel()
	other := fixed{{Limit: 1, Remaining: 1, Reset: -1}}
	for key, d := range map[string]upstream.Dialect{"api.example.com": nil, "*.example.com": nil, "*example.com": other, "*": other} {
		t.Run(key, func(t *testing.T) {
			r := &upstream.Reader{Dialects: map[string]upstream.Dialect{key: d}}
			resp := response(200, "X-RateLimit-Limit", "99")
			resp.Request = &http.Request{URL: &url.URL{Scheme: "https", Host: "api.example.com"}}
			if r.Check() == nil {
				t.Error("Check has nothing to say")
			}
			if got := r.Read(resp, date).Limit; got != 99 {
				t.Errorf("a limit of %d, want 99", got)
			}
		})
	}
}

func TestDialectThatLies(t *testing.T) {
	t.Parallel()
	lies := fixed{
		{Limit: -9, Remaining: -9, Reset: -9, Window: -9},
		{Limit: 10, Remaining: 0, Reset: 1<<63 - 1, Window: 1<<63 - 1},
	}
	r := &upstream.Reader{MaxPause: time.Minute, Dialects: map[string]upstream.Dialect{"a.test": lies}}
	resp := response(200)
	resp.Request = &http.Request{URL: &url.URL{Host: "a.test"}}
	got := r.Read(resp, date)
	if want := said(false, time.Minute, 10, 0, year); got.Pause != want.Pause || got.Reset != year || got.Window != year {
		t.Errorf("got %+v", got)
	}
	if lies[0].Limit != -9 {
		t.Error("the dialect's result was changed")
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	inMS := upstream.Fields{
		Name: "ip", Limit: "gw-ratelimit-limit", Remaining: "gw-ratelimit-remaining", Reset: "gw-ratelimit-reset",
		Window: "gw-window", Unit: time.Millisecond,
	}
	for name, c := range map[string]struct {
		dialect upstream.Dialect
		headers []string
		want    []upstream.Budget
	}{
		"milliseconds": {inMS, []string{"gw-ratelimit-limit", "4000", "gw-ratelimit-remaining", "0", "gw-ratelimit-reset", "27990", "gw-window", "30000"},
			[]upstream.Budget{{Name: "ip", Limit: 4000, Remaining: 0, Reset: 27990 * ms, Window: 30 * sec}}},
		"SkuVault, Throttling Headers: milliseconds under a name of seconds": {
			upstream.Fields{Limit: "X-RateLimit-Limit", Remaining: "X-RateLimit-Remaining", Reset: "X-RateLimit-Reset", Unit: time.Millisecond},
			[]string{"X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "27990"},
			[]upstream.Budget{{Limit: 5, Remaining: 0, Reset: 27990 * ms}}},
		"Prisjakt, Rate Limits: the same in other words": {
			upstream.Fields{Limit: "X-Rate-Limit-Limit", Remaining: "X-Rate-Limit-Remaining", Reset: "X-Rate-Limit-Reset", Unit: time.Millisecond},
			[]string{"X-Rate-Limit-Limit", "10000", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "600000"},
			[]upstream.Budget{{Limit: 10000, Remaining: 0, Reset: 10 * time.Minute}}},
		"Apollo.io: units left under a name of its own": {
			upstream.Fields{Limit: "x-rate-limit-minute", Remaining: "x-minute-requests-left", Name: "minute"},
			[]string{"x-rate-limit-minute", "50", "x-minute-requests-left", "0"}, []upstream.Budget{{Name: "minute", Limit: 50, Remaining: 0, Reset: -1, Window: time.Minute}}},
		"a moment in milliseconds": {inMS, []string{"gw-ratelimit-reset", "1655120934000"},
			[]upstream.Budget{{Name: "ip", Limit: -1, Remaining: -1, Reset: sec}}},
		"not there": {inMS, []string{"X-RateLimit-Limit", "4000"}, nil},
		"used": {upstream.Fields{Limit: "L", Used: "U"}, []string{"L", "10", "U", "3"},
			[]upstream.Budget{{Limit: 10, Remaining: 7, Reset: -1}}},
		"a limit of -1 is none": {upstream.Fields{Limit: "L", Remaining: "R", Reset: "T"}, []string{"L", "-1", "R", "0", "T", "9"},
			[]upstream.Budget{{Limit: -1, Remaining: -1, Reset: 9 * sec}}},
		"no names":         {upstream.Fields{}, []string{"X-RateLimit-Limit", "4000"}, nil},
		"a unit of a year": {upstream.Fields{Reset: "R", Unit: 1<<63 - 1}, []string{"R", "2.5"}, []upstream.Budget{{Limit: -1, Remaining: -1, Reset: year}}},
		"a negative unit":  {upstream.Fields{Reset: "R", Unit: -1}, []string{"R", "2.5"}, []upstream.Budget{{Limit: -1, Remaining: -1, Reset: 2500 * ms}}},
		"a unit of ten milliseconds": {upstream.Fields{Reset: "R", Unit: 10 * ms}, []string{"R", "99999999999999999999"},
			[]upstream.Budget{{Limit: -1, Remaining: -1, Reset: year}}},
		"common, negative": {upstream.Common{}, []string{"RateLimit", "limit=10, remaining=-5, reset=-5"}, []upstream.Budget{{Limit: 10, Remaining: -1, Reset: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.dialect.Budgets(response(200, c.headers...).Header, date)
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %+v, want %+v", got[i], c.want[i])
				}
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reader upstream.Reader
		want   string // in the error; empty: no error
	}{
		"zero":           {upstream.Reader{}, ""},
		"negative pause": {upstream.Reader{MaxPause: -1}, "Reader.MaxPause"},
		"upper case":     {upstream.Reader{Dialects: map[string]upstream.Dialect{"API.test": upstream.Common{}}}, "API.test"},
		"empty host":     {upstream.Reader{Dialects: map[string]upstream.Dialect{"": upstream.Common{}}}, "Reader.Dialects"},
		"star inside":    {upstream.Reader{Dialects: map[string]upstream.Dialect{"a.*.test": upstream.Common{}}}, "a.*.test"},
		"a URL":          {upstream.Reader{Dialects: map[string]upstream.Dialect{"https://a.test": upstream.Common{}}}, "https://a.test"},
		"nil dialect":    {upstream.Reader{Dialects: map[string]upstream.Dialect{"a.test": nil}}, "a.test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.reader.Check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadOfNothing(t *testing.T) {
	t.Parallel()
	var none *upstream.Reader
	for name, resp := range map[string]*http.Response{
		"no response": nil, "no headers": {StatusCode: 200}, "no URL": {StatusCode: 200, Request: &http.Request{}},
	} {
		if got := none.Read(resp, time.Time{}); got != nothing(false) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
