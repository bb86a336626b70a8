package upstream_test

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/upstream"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// date is the Date of the responses in tests.
var date = time.Date(2022, 6, 13, 11, 48, 53, 0, time.UTC)

// response makes a response from pairs of names and values, with a Date.
func response(status int, pairs ...string) *http.Response {
	h := http.Header{"Date": {date.Format(http.TimeFormat)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return &http.Response{StatusCode: status, Header: h}
}

func TestReadVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/upstream_headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		API     string
		Status  int
		Headers map[string]string
		Want    struct {
			PauseMS          int64 `json:"pause_ms"`
			Limit, Remaining *int64
			ResetMS          *int64 `json:"reset_ms"`
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	orUnsaid := func(p *int64) int64 {
		if p == nil {
			return -1
		}
		return *p
	}
	for _, c := range cases {
		t.Run(c.API, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{StatusCode: c.Status, Header: http.Header{}}
			for name, value := range c.Headers {
				resp.Header.Set(name, value)
			}
			got := new(upstream.Reader).Read(resp, time.Now())
			want := upstream.Signal{Pause: time.Duration(c.Want.PauseMS) * time.Millisecond}
			want.Limit, want.Remaining = orUnsaid(c.Want.Limit), orUnsaid(c.Want.Remaining)
			want.Reset = -1
			if c.Want.ResetMS != nil {
				want.Reset = time.Duration(*c.Want.ResetMS) * time.Millisecond
			}
			want.Name, want.Window, want.Refused = got.Name, got.Window, got.Refused // which the vectors don't say
			want.Cause, want.Partition = got.Cause, got.Partition
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestUnits: budgets have the unit of their policy, and can be skipped by it. Calls
// under way are no rate.
func TestUnits(t *testing.T) {
	t.Parallel()
	const rate, bytes, calls = `"rate";q=100;w=60`, `"body";q=65535;qu="content-bytes";w=10`, `"calls";q=40;qu="concurrent-requests"`
	for name, c := range map[string]struct {
		status              int
		policies, said      string
		skipped             string
		wantName, wantUnit  string
		wantLimit, wantLeft int64
		pause               time.Duration
		refused             bool
	}{
		"requests, not said":             {200, rate, `"rate";r=5;t=9`, "", "rate", "", 100, 5, 0, false},
		"requests, said":                 {200, `"rate";q=100;w=60;qu="requests"`, `"rate";r=5;t=9`, "", "rate", "requests", 100, 5, 0, false},
		"a token":                        {200, `rate;q=100;w=60;qu=requests`, `rate;r=5;t=9`, "", "rate", "requests", 100, 5, 0, false},
		"no word":                        {200, `"rate";q=100;w=60;qu=7`, `"rate";r=5;t=9`, "", "rate", "", 100, 5, 0, false},
		"bytes":                          {200, rate + ", " + bytes, `"rate";r=50;t=9, "body";r=5;t=9`, "", "body", "content-bytes", 65535, 5, 0, false},
		"bytes, skipped":                 {200, rate + ", " + bytes, `"rate";r=50;t=9, "body";r=5;t=9`, "content-bytes", "rate", "", 100, 50, 0, false},
		"bytes, used up":                 {200, rate + ", " + bytes, `"rate";r=50;t=9, "body";r=0;t=7`, "content-bytes", "rate", "", 100, 50, 7 * time.Second, false},
		"a policy alone":                 {200, bytes, "", "", "body", "content-bytes", 65535, -1, 0, false},
		"calls under way":                {200, rate + ", " + calls, `"rate";r=50;t=9, "calls";r=1`, "", "rate", "", 100, 50, 0, false},
		"calls under way, no more":       {200, rate + ", " + calls, `"rate";r=50;t=9, "calls";r=0;t=3`, "", "rate", "", 100, 50, 0, false},
		"calls under way, no more, 400":  {400, rate + ", " + calls, `"rate";r=50;t=9, "calls";r=0;t=3`, "", "rate", "", 100, 50, 0, false},
		"calls under way alone":          {200, calls, `"calls";r=1`, "", "", "", -1, -1, 0, false},
		"calls under way, refused":       {429, rate + ", " + calls, `"rate";r=50;t=9, "calls";r=0;t=3`, "", "rate", "", 100, 50, 3 * time.Second, true},
		"calls under way, unavailable":   {503, rate + ", " + calls, `"rate";r=50;t=9, "calls";r=0;t=3`, "", "rate", "", 100, 50, 3 * time.Second, true},
		"calls under way, a mere policy": {200, rate + ", " + calls, `"rate";r=50;t=9`, "", "rate", "", 100, 50, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := upstream.Reader{Skip: func(name string) bool { return name != "" && name == c.skipped }}
			header := http.Header{"Ratelimit-Policy": {c.policies}}
			if c.said != "" {
				header.Set("RateLimit", c.said)
			}
			s := r.Read(&http.Response{StatusCode: c.status, Header: header}, time.Now())
			if s.Name != c.wantName || s.Unit != c.wantUnit || s.Limit != c.wantLimit || s.Remaining != c.wantLeft || s.Pause != c.pause || s.Refused != c.refused {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestSkip: a skipped budget counts only with nothing left.
func TestSkip(t *testing.T) {
	t.Parallel()
	header := func(requests, tokens string) http.Header {
		return http.Header{
			"X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {requests}, "X-Ratelimit-Reset-Requests": {"10"},
			"X-Ratelimit-Limit-Tokens": {"1000"}, "X-Ratelimit-Remaining-Tokens": {tokens}, "X-Ratelimit-Reset-Tokens": {"20"},
		}
	}
	for name, c := range map[string]struct {
		requests, tokens, skipped string
		want                      string
		pause                     time.Duration
	}{
		"the smaller share":           {"5", "900", "", "requests", 0},
		"the smaller share, skipped":  {"5", "900", "requests", "tokens", 0},
		"the other":                   {"5", "900", "tokens", "requests", 0},
		"used up, and skipped":        {"0", "900", "requests", "tokens", 10 * time.Second},
		"both used up, and one of it": {"0", "0", "tokens", "requests", 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := upstream.Reader{Skip: func(name string) bool { return name == c.skipped }}
			s := r.Read(&http.Response{StatusCode: http.StatusOK, Header: header(c.requests, c.tokens)}, time.Now())
			if s.Name != c.want || s.Pause != c.pause || s.Refused {
				t.Errorf("%+v, want %q and a pause of %v", s, c.want, c.pause)
			}
		})
	}
}
