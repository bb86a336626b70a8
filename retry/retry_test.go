package retry_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/upstream"
)

func TestNewNamesTheWrongField(t *testing.T) {
	t.Parallel()
	sender := &base{}
	for _, c := range []struct {
		name, field string
		cfg         retry.Config
	}{
		{"no Base", "Base", retry.Config{}},
		{"the Transport of a failed NewTransport", "Base", retry.Config{Base: (*weir.Transport)(nil)}},
		{"negative Max", "Max", retry.Config{Base: sender, Max: -1}},
		{"negative Budget", "Budget", retry.Config{Base: sender, Budget: -1}},
		{"a number that is no status", "Statuses[1]", retry.Config{Base: sender, Statuses: []int{429, 4290}}},
		{"a status of success", "Statuses[0]", retry.Config{Base: sender, Statuses: []int{200}}},
		{"a redirect", "Statuses[0]", retry.Config{Base: sender, Statuses: []int{307}}},
		{"negative Backoff", "Backoff", retry.Config{Base: sender, Backoff: -1}},
		{"negative MaxBackoff", "MaxBackoff", retry.Config{Base: sender, MaxBackoff: -1}},
		{"MaxBackoff below Backoff", "MaxBackoff", retry.Config{Base: sender, Backoff: 2, MaxBackoff: 1}},
		{"MaxBackoff below the default Backoff", "MaxBackoff", retry.Config{Base: sender, MaxBackoff: 1}},
		{"negative MaxWait", "MaxWait", retry.Config{Base: sender, MaxWait: -1}},
		{"a wrong Reader", "Upstream", retry.Config{Base: sender, Upstream: &upstream.Reader{MaxPause: -1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, err := retry.New(c.cfg)
			var wrong *weir.ConfigError
			if tr != nil || !errors.As(err, &wrong) || wrong.Field != "retry.Config."+c.field {
				t.Errorf("transport %v, error %v; want a ConfigError for %s", tr, err, c.field)
			}
		})
	}
}

func TestZeroTransport(t *testing.T) {
	t.Parallel()
	tr := new(retry.Transport)
	for _, body := range []string{"", "hello"} {
		req, made := request(t, "POST", body)
		resp, err := tr.RoundTrip(req)
		var wrong *weir.ConfigError
		if resp != nil || !errors.As(err, &wrong) || wrong.Field != "retry.Transport" {
			t.Errorf("%v, %v", resp, err)
		}
		made.check(t, len(body)/5)
	}
	tr.CloseIdleConnections()
}

func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	sender := &base{}
	over(t, sender, retry.Config{}).CloseIdleConnections()
	over(t, baseFunc(nil), retry.Config{}).CloseIdleConnections()
	if n := sender.idle.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestWhatIsTriedAgain: outcomes of requests, with the default Config unless a case
// has its own.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	const key = "Idempotency-Key"
	with := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	hint := func(values ...string) http.Header { return http.Header{"X-Should-Retry": values} }
	for _, c := range []struct {
		name, method, body string
		step               step
		cfg                retry.Config
		change             func(*http.Request)
		again              bool
	}{
		{name: "GET, 429", method: "GET", step: step{status: 429}, again: true},
		{name: "GET, 502", method: "GET", step: step{status: 502}, again: true},
		{name: "GET, 503", method: "GET", step: step{status: 503}, again: true},
		{name: "GET, 504", method: "GET", step: step{status: 504}, again: true},
		{name: "no method, 503", method: "GET", step: step{status: 503}, change: func(r *http.Request) { r.Method = "" }, again: true},
		{name: "no header, 503", method: "GET", step: step{status: 503}, change: func(r *http.Request) { r.Header = nil }, again: true},
		{name: "HEAD, 503", method: "HEAD", step: step{status: 503, noBody: true}, again: true},
		{name: "OPTIONS, 503", method: "OPTIONS", step: step{status: 503}, again: true},
		{name: "TRACE, 503", method: "TRACE", step: step{status: 503}, again: true},
		{name: "PUT, 503", method: "PUT", body: "x", step: step{status: 503}, again: true},
		{name: "DELETE, 503", method: "DELETE", step: step{status: 503}, again: true},
		{name: "POST, 429", method: "POST", body: "x", step: step{status: 429}, again: true},
		{name: "POST without a body, 429", method: "POST", step: step{status: 429}, again: true},
		{name: "PATCH, 429", method: "PATCH", body: "x", step: step{status: 429}, again: true},
		{name: "POST, 503", method: "POST", body: "x", step: step{status: 503}},
		{name: "POST without a body, 503", method: "POST", step: step{status: 503}},
		{name: "PATCH, 503", method: "PATCH", body: "x", step: step{status: 503}},
		{name: "CONNECT, 503", method: "CONNECT", step: step{status: 503}},
		{name: "an unknown method, 503", method: "get", step: step{status: 503}},
		{name: "POST with a key, 503", method: "POST", body: "x", step: step{status: 503}, change: with(key, "a"), again: true},
		{name: "POST with an X- key, 503", method: "POST", body: "x", step: step{status: 503}, change: with("X-"+key, "a"), again: true},
		{name: "POST with a key that is not sent, 503", method: "POST", body: "x", step: step{status: 503}, change: with(key), again: true},
		{name: "POST with an empty key, 503", method: "POST", body: "x", step: step{status: 503}, change: with(key, "")},
		{name: "body without GetBody, 429", method: "PUT", body: "x", step: step{status: 429},
			change: func(r *http.Request) { r.GetBody = nil }},
		{name: "NoBody without GetBody, 429", method: "POST", step: step{status: 429},
			change: func(r *http.Request) { r.Body, r.GetBody = http.NoBody, nil }, again: true},
		{name: "Trailer, 429", method: "PUT", body: "x", step: step{status: 429},
			change: func(r *http.Request) { r.Trailer = http.Header{"X-Sum": nil} }},
		{name: "GET, 200", method: "GET", step: step{status: 200, after: "1"}},
		{name: "GET, 204", method: "GET", step: step{status: 204, noBody: true}},
		{name: "GET, 101", method: "GET", step: step{status: 101}},
		{name: "GET, 307", method: "GET", step: step{status: 307, after: "1"}},
		{name: "GET, 500", method: "GET", step: step{status: 500}},
		{name: "GET, a chosen 500", method: "GET", step: step{status: 500}, cfg: retry.Config{Statuses: []int{500}}, again: true},
		{name: "POST, a chosen 500", method: "POST", step: step{status: 500}, cfg: retry.Config{Statuses: []int{500}}},
		{name: "GET, 429, other statuses", method: "GET", step: step{status: 429}, cfg: retry.Config{Statuses: []int{500}}},
		{name: "GET, 429, no statuses", method: "GET", step: step{status: 429}, cfg: retry.Config{Statuses: []int{}}},

		{name: "GET, 403", method: "GET", step: step{status: 403}},
		{name: "GET, 403 by a limit", method: "GET", step: step{status: 403, after: "1"}, again: true},
		{name: "POST, 403 by a limit", method: "POST", body: "x", step: step{status: 403, after: "1"}, again: true},
		{name: "GET, 529 by a limit", method: "GET", step: step{status: 529, after: "1"}, again: true},
		{name: "POST, 503 by a limit", method: "POST", body: "x", step: step{status: 503, after: "1"}},
		{name: "GET, 403 by a limit, other statuses", method: "GET", step: step{status: 403, after: "1"}, cfg: retry.Config{Statuses: []int{500}}},
		{name: "POST, 400 by a limit", method: "POST", body: "x", step: step{status: 400, body: `{"__type": "x#ThrottlingException"}`,
			header: http.Header{"X-Amzn-Errortype": {"ThrottlingException"}}}, again: true},
		{name: "POST, 400 by a limit, by the body", method: "POST", body: "x", step: step{status: 400, body: `{"code": "ThrottlingException"}`},
			cfg: retry.Config{Upstream: &upstream.Reader{Bodies: true}}, again: true},
		{name: "POST, 400 by a limit, unread", method: "POST", body: "x", step: step{status: 400, body: `{"code": "ThrottlingException"}`}},

		{name: "hint false, GET, 429", method: "GET", step: step{status: 429, header: hint("false")}},
		{name: "hint true, GET, 500", method: "GET", step: step{status: 500, header: hint("true")}, again: true},
		{name: "hint true, POST, 409", method: "POST", body: "x", step: step{status: 409, header: hint("true")}, again: true},
		{name: "hint true, no statuses", method: "GET", step: step{status: 400, header: hint("true")}, cfg: retry.Config{Statuses: []int{}}, again: true},
		{name: "hint true, body without GetBody", method: "POST", body: "x", step: step{status: 429, header: hint("true")},
			change: func(r *http.Request) { r.GetBody = nil }},
		{name: "hint true, 200", method: "GET", step: step{status: 200, header: hint("true")}},
		{name: "hint true, 304", method: "GET", step: step{status: 304, header: hint("true")}},
		{name: "hint in other letters", method: "POST", step: step{status: 500, header: hint(" True ")}, again: true},
		{name: "hint without a meaning, 503", method: "GET", step: step{status: 503, header: hint("maybe")}, again: true},
		{name: "hint without a meaning, 500", method: "GET", step: step{status: 500, header: hint("")}},
		{name: "hints that disagree", method: "GET", step: step{status: 503, header: hint("true", "false")}},
		{name: "hints that disagree, false first", method: "GET", step: step{status: 503, header: hint("false", "true")}},
		{name: "hint of Stripe", method: "POST", step: step{status: 409, header: http.Header{"Stripe-Should-Retry": {"true"}}}, again: true},
		{name: "two headers that disagree", method: "GET", step: step{status: 503,
			header: http.Header{"X-Should-Retry": {"true"}, "Stripe-Should-Retry": {"false"}}}},
		{name: "hint false, from a cache", method: "GET", step: step{status: 503, header: http.Header{"X-Should-Retry": {"false"}, "Age": {"5"}}}},

		{name: "402, although it is a status to try", method: "GET", step: step{status: 402}, cfg: retry.Config{Statuses: []int{402}}},
		{name: "402, with a hint", method: "GET", step: step{status: 402, header: hint("true")}, again: true},
		{name: "402, two headers that disagree", method: "GET", step: step{status: 402,
			header: http.Header{"X-Should-Retry": {"true"}, "Stripe-Should-Retry": {"false"}}}},
		{name: "no quota, by the body", method: "GET", step: step{status: 429, body: `{"error": {"code": "insufficient_quota"}}`},
			cfg: retry.Config{Upstream: &upstream.Reader{Bodies: true}}},
		{name: "no quota, by the body, unread", method: "GET", step: step{status: 429, body: `{"error": {"code": "insufficient_quota"}}`}, again: true},
		{name: "another code", method: "GET", step: step{status: 429, body: `{"error": {"code": "rate_limit_exceeded"}}`},
			cfg: retry.Config{Upstream: &upstream.Reader{Bodies: true}}, again: true},

		{name: "GET, error", method: "GET", step: step{err: errors.New("connection reset")}, again: true},
		{name: "GET, error, no statuses", method: "GET", step: step{err: io.EOF}, cfg: retry.Config{Statuses: []int{}}, again: true},
		{name: "GET, network error", method: "GET", step: step{err: &net.OpError{Op: "dial", Err: io.EOF}}, again: true},
		{name: "GET, timeout of a connection", method: "GET", step: step{err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}, again: true},
		{name: "GET, timeout of the base", method: "GET", step: step{err: context.DeadlineExceeded}, again: true},
		{name: "GET, the base was cancelled", method: "GET", step: step{err: context.Canceled}},
		{name: "POST, error", method: "POST", body: "x", step: step{err: io.EOF}},
		{name: "POST with a key, error", method: "POST", body: "x", step: step{err: io.EOF}, change: with(key, "a"), again: true},
		{name: "GET, certificate not trusted", method: "GET",
			step: step{err: fmt.Errorf("dial: %w", &tls.CertificateVerificationError{Err: io.EOF})}},
		{name: "GET, refusal by a limit", method: "GET", step: step{err: &weir.LimitedError{RetryAfter: time.Second}}},
		{name: "GET, store failure", method: "GET", step: step{err: &weir.StoreError{Err: io.EOF}}},
		{name: "GET, wrong configuration", method: "GET", step: step{err: &weir.ConfigError{}}},
		{name: "GET, no key", method: "GET", step: step{err: weir.ErrNoKey}},
		{name: "GET, ambiguous key", method: "GET", step: step{err: weir.ErrMalformedKey}},
		{name: "GET, malformed key", method: "GET", step: step{err: weir.ErrMalformedKey}},
		{name: "GET, unsupported by the store", method: "GET", step: step{err: weir.ErrUnsupported}},
		{name: "no URL", method: "GET", step: step{err: errors.New("nil Request.URL")}, change: func(r *http.Request) { r.URL = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: []step{c.step, {status: 200, body: "fine"}}}
				req, made := request(t, c.method, c.body)
				if c.change != nil {
					c.change(req)
				}
				resp, err := over(t, sender, c.cfg).RoundTrip(req)
				want := 1
				if c.again {
					want = 2
				}
				if sender.attempts() != want {
					t.Fatalf("%d attempts, want %d", sender.attempts(), want)
				}
				for i, body := range sender.bodies {
					if body != c.body {
						t.Errorf("attempt %d sent %q, want %q", i, body, c.body)
					}
				}
				if c.body != "" {
					made.check(t, want)
				}
				switch {
				case !c.again && c.step.err != nil:
					if resp != nil || !errors.Is(err, c.step.err) {
						t.Errorf("got %v, %v", resp, err)
					}
				case err != nil:
					t.Error(err)
				case c.again && resp.StatusCode != 200 || !c.again && resp.StatusCode != c.step.status:
					t.Errorf("status %d", resp.StatusCode)
				case resp.Body != nil:
					_ = resp.Body.Close()
				}
				sender.check(t)
			})
		})
	}
}

// TestConfigIsCopied: changes after New have no effect.
func TestConfigIsCopied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := retry.Config{Statuses: []int{500}}
		sender := &base{steps: []step{{status: 500}, {status: 200}}}
		tr := over(t, sender, cfg)
		cfg.Statuses[0] = 501
		req, _ := request(t, "GET", "")
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
		sender.check(t)
	})
}

// TestVeto sees each outcome that would be tried again, and no other.
func TestVeto(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := &base{steps: []step{{err: io.EOF}, {status: 503}, {status: 503, after: "7"}}}
		var seen []string
		tr := over(t, sender, retry.Config{Max: 9, Veto: func(_ *http.Request, resp *http.Response, err error) bool {
			seen = append(seen, fmt.Sprint(resp != nil, err))
			return resp != nil && resp.Header.Get("Retry-After") != ""
		}})
		for range 2 {
			req, _ := request(t, "GET", "")
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.StatusCode != 503 || sender.read.Load() != 0 {
				t.Fatalf("%v, %v", resp, err)
			}
			_ = resp.Body.Close()
		}
		req, _ := request(t, "POST", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got, want := strings.Join(seen, ", "), "false EOF, true <nil>, true <nil>, true <nil>"; got != want {
			t.Errorf("seen %s, want %s", got, want)
		}
		sender.check(t)
	})
}

// TestRequestIsNotModified, even when the base modifies its own requests.
func TestRequestIsNotModified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := &base{steps: []step{{status: 429}}}
		sender.hold = func(n int, r *http.Request) {
			if n > 0 {
				r.Header.Set("X-Signed", fmt.Sprint(n))
				r.URL.Path = "/elsewhere"
			}
		}
		req, made := request(t, "POST", "hello")
		req.Header.Set("X-User", "ann")
		before := fmt.Sprintf("%p %p %s %v %d", req.Body, req.Header, req.URL, req.Header, req.ContentLength)
		resp, err := over(t, sender, retry.Config{Max: 3}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if after := fmt.Sprintf("%p %p %s %v %d", req.Body, req.Header, req.URL, req.Header, req.ContentLength); before != after {
			t.Errorf("before %s, after %s", before, after)
		}
		for i, sent := range sender.sent {
			if (sent == req) != (i == 0) || sent.Header.Get("X-User") != "ann" || sent.ContentLength != 5 || sent.Context() != req.Context() {
				t.Errorf("attempt %d: %+v", i, sent)
			}
			if signed := sent.Header.Get("X-Signed"); i > 0 && signed != fmt.Sprint(i) {
				t.Errorf("attempt %d has the header of an earlier one: %q", i, signed)
			}
		}
		made.check(t, 4)
		sender.check(t)
	})
}

// TestObserve is called before every further attempt, and no other.
func TestObserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := &base{steps: []step{{status: 429, after: "3"}, {err: io.EOF}, {status: 200}}}
		req, _ := request(t, "GET", "")
		var got []retry.Attempt
		tr := over(t, sender, retry.Config{Max: 9, Backoff: time.Second, Observe: func(r *http.Request, a retry.Attempt) {
			if r != req || sender.attempts() != a.Number-1 || time.Since(sender.at[a.Number-2]) != a.Pause {
				t.Errorf("%+v after %d attempts", a, sender.attempts())
			}
			got = append(got, a)
		}})
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0] != (retry.Attempt{Number: 2, Pause: 3 * time.Second, Status: 429}) ||
			got[1].Number != 3 || got[1].Status != 0 || got[1].Err != io.EOF {
			t.Errorf("observed %+v", got)
		}
	})
}

// TestBudgetHolds its share over random streams of requests, from one goroutine
// and from several, and lets that share pass when every request fails.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	const reserve = 10
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		cfg := retry.Config{Max: 1 + random.IntN(4), Backoff: 1, MaxBackoff: 1}
		if seed%4 != 0 {
			cfg.Budget = 1 + random.IntN(100*cfg.Max-1)
		}
		percent := cfg.Budget
		if percent == 0 {
			percent = 10
		}
		failing := []int{100, random.IntN(101)}[seed%2]
		t.Run(fmt.Sprintf("seed %d: Max %d, Budget %d, %d %% fail", seed, cfg.Max, cfg.Budget, failing), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				calls, attempts := 0, 0
				tr := over(t, baseFunc(func(*http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					attempts++
					if further := attempts - calls; further*100 > calls*percent+reserve*100 {
						t.Errorf("%d further attempts after %d requests", further, calls)
					}
					if random.IntN(100) < failing {
						return nil, io.EOF
					}
					return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
				}), cfg)
				workers := 1 + random.IntN(4)
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for range 200 {
							req, _ := request(t, "GET", "")
							mu.Lock()
							calls++
							mu.Unlock()
							_, _ = tr.RoundTrip(req)
						}
					})
				}
				wg.Wait()
				// The first requests earn nothing, as the reserve is full.
				least := reserve + (calls-workers)*percent/100 - 1
				if failing == 100 && attempts-calls < least {
					t.Errorf("%d further attempts of %d requests, want at least %d", attempts-calls, calls, least)
				}
			})
		})
	}
}

// TestBudgetRecovers: successes earn further attempts again, at most the reserve. A
// Budget of 100 for each of Max never ends.
func TestBudgetRecovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		max, budget      int
		failures, health int
		first, second    int // further attempts of the failures, before and after the healthy requests
	}{
		{"a reserve that is full stays full", 1, 10, 0, 1000, 0, 10},
		{"used up, earned again", 1, 10, 1000, 50, 109, 105},
		{"used up, full again", 1, 10, 1000, 1000, 109, 109},
		{"without a bound", 3, 300, 1000, 0, 3000, 3000},
		{"nearly without a bound", 3, 299, 1000, 0, 2997, 2990},
		{"nearly without a bound, full again", 3, 299, 1000, 1000, 2997, 2997},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				healthy, attempts := false, 0
				tr := over(t, baseFunc(func(*http.Request) (*http.Response, error) {
					attempts++
					if healthy {
						return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
					}
					return nil, io.EOF
				}), retry.Config{Max: c.max, Budget: c.budget, Backoff: 1, MaxBackoff: 1})
				further := func(n int) int {
					attempts = -n
					for range n {
						req, _ := request(t, "GET", "")
						_, _ = tr.RoundTrip(req)
					}
					return attempts
				}
				first := further(c.failures)
				healthy = true
				if n := further(c.health); n != 0 {
					t.Errorf("%d further attempts after successes", n)
				}
				healthy = false
				if second := further(max(c.failures, 10)); first != c.first || second != c.second {
					t.Errorf("%d and %d further attempts, want %d and %d", first, second, c.first, c.second)
				}
			})
		})
	}
}
