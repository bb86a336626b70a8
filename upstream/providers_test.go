package upstream_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/upstream"
)

// TestProviders reads header sets and bodies of providers. Each row is a row of
// docs/providers.md too.
func TestProviders(t *testing.T) {
	t.Parallel()
	var cases []struct {
		Row           string
		Status        int
		Headers       []string
		Body          string
		Refused       bool
		PauseMS       int64 `json:"pause_ms"`
		Limit, Scope  string
		Concurrent    bool
		NoRetry       string `json:"no_retry"`
		Budget        string
		Partition     string
		Informational bool
	}
	text, err := os.ReadFile("testdata/providers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Row, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(docs), "| "+c.Row+" |") {
				t.Errorf("docs/providers.md has no row %q", c.Row)
			}
			resp := response(c.Status)
			for _, line := range c.Headers {
				name, value, _ := strings.Cut(line, ": ")
				resp.Header.Add(name, value)
			}
			resp.Body = io.NopCloser(strings.NewReader(c.Body))
			synctest.Test(t, func(t *testing.T) { // A busy machine would let the time for a body pass.
				r := &upstream.Reader{Bodies: true}
				s := r.Read(resp, date)
				cause := upstream.Cause{Limit: c.Limit, Scope: c.Scope, Concurrent: c.Concurrent}
				if s.Refused != c.Refused || s.Pause != time.Duration(c.PauseMS)*time.Millisecond || s.Cause != cause || s.NoRetry != c.NoRetry {
					t.Errorf("got %+v", s)
				}
				if s.Name != c.Budget || s.Partition != c.Partition || s.Informational != c.Informational {
					t.Errorf("got the budget %+v", s.Budget)
				}
				if body, err := io.ReadAll(resp.Body); string(body) != c.Body || err != nil {
					t.Errorf("the body is now %q, %v", body, err)
				}
			})
		})
	}
}

// TestPendingDraft reads the parameters of the draft after 11.
func TestPendingDraft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers []string
		want    upstream.Budget
	}{
		"a and w": {[]string{"RateLimit", `"x";a=80;w=45`}, upstream.Budget{Name: "x", Limit: -1, Remaining: 80, Reset: 45 * time.Second}},
		"a before r": {[]string{"RateLimit", `"x";a=80;w=45;r=1;t=1`},
			upstream.Budget{Name: "x", Limit: -1, Remaining: 80, Reset: 45 * time.Second}},
		"c": {[]string{"RateLimit", `"x";a=80;c=7`}, upstream.Budget{Name: "x", Limit: -1, Remaining: 80, Reset: -1}},
		"pk of the policy": {[]string{"RateLimit", `"x";a=8`, "RateLimit-Policy", `"x";q=9;pk="u1"`},
			upstream.Budget{Name: "x", Limit: 9, Remaining: 8, Reset: -1, Partition: "u1"}},
		"pk tells policies of one name apart": {[]string{"RateLimit", `"x";r=8;pk=:Yg==:`, "RateLimit-Policy", `"x";q=9;w=60;pk=:YQ==:, "x";q=20;w=30;pk=:Yg==:`},
			upstream.Budget{Name: "x", Limit: 20, Remaining: 8, Reset: -1, Window: 30 * time.Second, Partition: "b"}},
		"partition": {[]string{"RateLimit", `"x";a=8`, "RateLimit-Partition", `"y";a, "x";user_id;method="GET"`},
			upstream.Budget{Name: "x", Limit: -1, Remaining: 8, Reset: -1}},
		"a trailing comma":  {[]string{"RateLimit", `"x";a=8,`}, upstream.Budget{Limit: -1, Remaining: -1, Reset: -1}},
		"a comma in a name": {[]string{"RateLimit", `"x, \"y";a=8, =`}, upstream.Budget{Name: `x, "y`, Limit: -1, Remaining: 8, Reset: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := new(upstream.Reader).Read(response(200, c.headers...), date).Budget; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestAmend may change all of a signal, within the Reader's bounds.
func TestAmend(t *testing.T) {
	t.Parallel()
	r := &upstream.Reader{Amend: func(_ *http.Response, s *upstream.Signal) {
		s.Refused, s.Pause, s.Cause.Limit, s.Remaining = true, 1<<62, "mine", -7
	}}
	s := r.Read(response(451), date)
	if !s.Refused || s.Pause != upstream.MaxPause || s.Cause.Limit != "mine" || s.Remaining != -1 {
		t.Errorf("%+v", s)
	}
	if s := r.Read(response(200), date); s.Refused {
		t.Error("a success without a word was amended")
	}
	r.Amend = func(_ *http.Response, s *upstream.Signal) { s.Pause /= 1000 } // Sentinel Hub
	if s := r.Read(response(429, "Retry-After", "5000"), date); s.Pause != 5*time.Second {
		t.Errorf("5000 ms are a pause of %v", s.Pause)
	}
}
