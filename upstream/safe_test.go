package upstream_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/upstream"
)

// possible fails for a signal that no response may give.
func possible(t *testing.T, r *upstream.Reader, resp *http.Response) {
	t.Helper()
	s := r.Read(resp, date)
	switch {
	case s.Pause < 0 || s.Pause > upstream.MaxPause:
		t.Errorf("pause %v", s.Pause)
	case s.Reset < -1 || s.Reset > year:
		t.Errorf("reset %v", s.Reset)
	case s.Window < 0 || s.Window > year:
		t.Errorf("window %v", s.Window)
	case s.Limit < -1 || s.Remaining < -1:
		t.Errorf("limit %d, remaining %d", s.Limit, s.Remaining)
	case s.Pause > 0 && !s.Refused && s.Remaining != 0:
		t.Errorf("a pause of %v with %d remaining and no refusal", s.Pause, s.Remaining)
	case s.Refused && resp.StatusCode < 400:
		t.Errorf("status %d is a refusal", resp.StatusCode)
	}
	if after := r.RetryAfter(resp, date); after < 0 || after > upstream.MaxPause {
		t.Errorf("retry after %v", after)
	}
	if again := r.Read(resp, date); again != s {
		t.Errorf("first %+v, then %+v", s, again)
	}
	if t.Failed() {
		t.Fatalf("status %d, headers %q", resp.StatusCode, resp.Header)
	}
}

// names are headers that are read, parts the pieces of values.
var (
	names = []string{
		"Retry-After", "Retry-After-Ms", "X-Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining",
		"RateLimit-Reset", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Used", "X-RateLimit-Reset", "X-RateLimit-Reset-After",
		"X-RateLimit-Limit-Tokens", "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens", "X-Rate-Limit", "X-Rate-Limit-Reset-Ms",
		"X-Rate-Limit-Window", "X-App-Limit-24hour-Reset", "X-Shopify-Shop-Api-Call-Limit", "Sforce-Limit-Info", "Date", "Age",
		"RateLimit-Partition", "Beta-RateLimit", "RateLimit-Reason", "X-RateLimit-Scope", "X-RateLimit-Resource", "X-RateLimit-Bucket", "X-Should-Retry",
		"X-Bapi-Limit", "X-Bapi-Limit-Status", "X-Remaining-Today", "X-Limit-Per-Day", "X-MinLimit-Remaining", "X-Retry-In", "X-Quota-Reset",
		"Gw-Ratelimit-Reset", "X-Esi-Error-Limit-Remain", "X-RateLimit-Retry-After-A", "X-Next-Replenish-Time", "X-Amzn-Errortype", "X-Rate-Limit-Group",
		"X-Mashery-Error-Code", "X-Toggl-Quota-Remaining", "X-Toggl-Quota-Resets-In",
		"Anthropic-RateLimit-Unified-Status", "Anthropic-RateLimit-Unified-Reset", "Anthropic-RateLimit-Unified-Representative-Claim",
	}
	parts = []string{
		"0", "1", "9", "60", "1655120964", "253402300799", "9223372036854775807", "18446744073709551615", "99999999999999999999", ".", "-", "+",
		"e400", "NaN", "Inf", ";", ",", "=", "/", "\"", "\"a\"", "a=", "c=", "pk=:YQ==:", "global-concurrency", "rejected", "five_hour", "lim:", "rem:", "ThrottlingException", "r=", "t=", "q=", "w=", "limit=", "remaining=", "reset=", " ", "ms", "s", "h", "d", "T", "Z",
		"2022-06-13", "11:50:00", " seconds", "developer_over_qps", "Mon, 13 Jun 2022 11:49:23 GMT", "9999-12-31T23:59:59Z", "Fri, 31 Dec 9999 23:59:59 GMT", "\x00", "\xff", "ü",
	}
	statuses = []int{0, 200, 202, 303, 400, 403, 418, 429, 503, 529, -1}
)

func TestEveryResponseIsReadSafely(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	value := func() string {
		if rng.IntN(4) == 0 {
			raw := make([]byte, rng.IntN(40))
			for i := range raw {
				raw[i] = byte(rng.Uint32())
			}
			return string(raw)
		}
		var b strings.Builder
		for range rng.IntN(6) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		return b.String()
	}
	r := new(upstream.Reader)
	paused := 0
	for range 20_000 {
		resp := response(statuses[rng.IntN(len(statuses))])
		for range rng.IntN(8) {
			resp.Header.Add(names[rng.IntN(len(names))], value())
		}
		possible(t, r, resp)
		if r.Read(resp, date).Pause > 0 {
			paused++
		}
	}
	if paused < 100 {
		t.Errorf("only %d of the responses had a pause: the values are too wild to show anything", paused)
	}
}

func TestHugeHeadersAreBounded(t *testing.T) {
	huge := map[string][]string{"long lines": nil, "many lines": nil}
	for range 10 {
		huge["long lines"] = append(huge["long lines"], strings.Repeat(`9, "a";r=0;t=1,`, 10_000))
	}
	for range 10_000 {
		huge["many lines"] = append(huge["many lines"], "0")
	}
	for name, lines := range huge {
		resp := response(429)
		for _, h := range names {
			resp.Header[http.CanonicalHeaderKey(h)] = lines
		}
		if allocs := testing.AllocsPerRun(3, func() { new(upstream.Reader).Read(resp, date) }); allocs > 2000 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
		possible(t, new(upstream.Reader), resp)
	}
	resp := response(429)
	for i := range 10_000 {
		resp.Header.Set(fmt.Sprintf("X-RateLimit-Remaining-%d", i), "0")
		resp.Header.Set(fmt.Sprintf("X-RateLimit-Reset-%d", i), "5")
	}
	if allocs := testing.AllocsPerRun(3, func() { new(upstream.Reader).Read(resp, date) }); allocs > 2000 {
		t.Errorf("many names: %v allocations", allocs)
	}
	possible(t, new(upstream.Reader), resp)
}

func FuzzRead(f *testing.F) {
	f.Add(429, "Retry-After: 5\nRetry-After-Ms: 4999.5\n")
	f.Add(429, "Retry-After: Monday, 13-Jun-22 11:49:23 GMT\nDate: Mon, 13 Jun 2022 11:48:53 GMT\n")
	f.Add(200, "RateLimit: \"a\";r=0;t=9, b;r=5\nRateLimit-Policy: \"a\";q=10;w=60;pk=:c2Q=:, 5;w=1\n")
	f.Add(200, "RateLimit: limit=100, remaining=0, reset=5\n")
	f.Add(403, "RateLimit-Limit: 10, 10;w=1, 50;w=60\nRateLimit-Remaining: 0\nRateLimit-Reset: 1655120964.5\n")
	f.Add(200, "X-RateLimit-Limit-Tokens: 10\nX-RateLimit-Remaining-Tokens: 0.0\nX-RateLimit-Reset-Tokens: 1d6m0s\n")
	f.Add(200, "X-Shopify-Shop-Api-Call-Limit: 32/40\nSforce-Limit-Info: api-usage=18/5000\nAge: 0\n")
	f.Add(200, "X-Rate-Limit: 5\nX-Rate-Limit-Used: 5\nX-Rate-Limit-Reset: 2022-06-13T11:50Z\nX-Rate-Limit-Interval-Ms: 5\n")
	f.Add(429, "RateLimit-Reason: jira-burst-based, x\nRateLimit: \"a\";a=0;w=9;c=1, =\nRateLimit-Partition: \"a\";user_id\nBeta-RateLimit: \"b\";r=0;t=9\n")
	f.Add(429, "X-RateLimit-Scope: shared\nX-RateLimit-Bucket: b\nX-RateLimit-Resource: core\nX-RateLimit-Remaining: 5\nRetry-After: 9\n")
	f.Fuzz(func(t *testing.T, status int, text string) {
		// A header of net/http, or its part before a mistake.
		h, _ := textproto.NewReader(bufio.NewReader(strings.NewReader(text + "\n"))).ReadMIMEHeader()
		possible(t, new(upstream.Reader), &http.Response{StatusCode: status, Header: http.Header(h)})
		// And values that no server could send.
		raw := http.Header{}
		for line := range strings.SplitSeq(text, "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				raw[name] = append(raw[name], value)
			}
		}
		possible(t, new(upstream.Reader), &http.Response{StatusCode: status, Header: raw})
	})
}
