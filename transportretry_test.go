package weir_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

func TestNewTransportRefusesRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, field string
		retry       weir.Retry
	}{
		{"negative Times", "Times", weir.Retry{Times: -1}},
		{"Statuses without Times", "Times", weir.Retry{Statuses: []int{429}}},
		{"Errors without Times", "Times", weir.Retry{Errors: true}},
		{"Backoff without Times", "Times", weir.Retry{Backoff: 1}},
		{"MaxBackoff without Times", "Times", weir.Retry{MaxBackoff: 1}},
		{"a status that is none", "Statuses[1]", weir.Retry{Times: 1, Statuses: []int{429, 4290}}},
		{"a status of success", "Statuses[0]", weir.Retry{Times: 1, Statuses: []int{200}}},
		{"a redirect", "Statuses[0]", weir.Retry{Times: 1, Statuses: []int{307}}},
		{"negative Backoff", "Backoff", weir.Retry{Times: 1, Backoff: -1}},
		{"negative MaxBackoff", "MaxBackoff", weir.Retry{Times: 1, MaxBackoff: -1}},
		{"MaxBackoff below Backoff", "MaxBackoff", weir.Retry{Times: 1, Backoff: 2, MaxBackoff: 1}},
		{"MaxBackoff below the default Backoff", "MaxBackoff", weir.Retry{Times: 1, MaxBackoff: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, err := weir.NewTransport(weir.TransportConfig{Limiter: transportLimiter(t, &transportStore{}), Retry: c.retry})
			var ce *weir.ConfigError
			if tr != nil || !errors.As(err, &ce) || ce.Field != "TransportConfig.Retry."+c.field {
				t.Errorf("transport %v, error %v; want a ConfigError for Retry.%s", tr, err, c.field)
			}
		})
	}
}

// TestRetryWhat: which outcomes of which requests are tried again.
func TestRetryWhat(t *testing.T) {
	t.Parallel()
	const header = "Idempotency-Key"
	broken := errors.New("connection reset")
	with := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	for _, c := range []struct {
		name, method, body string
		step               retryStep
		retry              weir.Retry
		change             func(*http.Request)
		again              bool
	}{
		{name: "GET, 429", method: "GET", step: retryStep{status: 429}, again: true},
		{name: "GET, 503", method: "GET", step: retryStep{status: 503}, again: true},
		{name: "no method, 503", method: "GET", step: retryStep{status: 503}, change: func(r *http.Request) { r.Method = "" }, again: true},
		{name: "HEAD, 503", method: "HEAD", step: retryStep{status: 503, noBody: true}, again: true},
		{name: "OPTIONS, 503", method: "OPTIONS", step: retryStep{status: 503}, again: true},
		{name: "TRACE, 503", method: "TRACE", step: retryStep{status: 503}, again: true},
		{name: "PUT, 503", method: "PUT", body: "x", step: retryStep{status: 503}, again: true},
		{name: "DELETE, 503", method: "DELETE", step: retryStep{status: 503}, again: true},
		{name: "POST, 429", method: "POST", body: "x", step: retryStep{status: 429}, again: true},
		{name: "POST without a body, 429", method: "POST", step: retryStep{status: 429}, again: true},
		{name: "PATCH, 429", method: "PATCH", body: "x", step: retryStep{status: 429}, again: true},
		{name: "POST, 503", method: "POST", body: "x", step: retryStep{status: 503}},
		{name: "POST without a body, 503", method: "POST", step: retryStep{status: 503}},
		{name: "PATCH, 503", method: "PATCH", body: "x", step: retryStep{status: 503}},
		{name: "CONNECT, 503", method: "CONNECT", step: retryStep{status: 503}},
		{name: "a method of its own, 503", method: "get", step: retryStep{status: 503}},
		{name: "POST with a key, 503", method: "POST", body: "x", step: retryStep{status: 503}, change: with(header, "a"), again: true},
		{name: "POST with an X- key, 503", method: "POST", body: "x", step: retryStep{status: 503}, change: with("X-"+header, "a"), again: true},
		{name: "POST with a key that is not sent, 503", method: "POST", body: "x", step: retryStep{status: 503}, change: with(header), again: true},
		{name: "POST with an empty key, 503", method: "POST", body: "x", step: retryStep{status: 503}, change: with(header, "")},
		{name: "body that can't be replayed, 429", method: "PUT", body: "x", step: retryStep{status: 429},
			change: func(r *http.Request) { r.GetBody = nil }},
		{name: "NoBody without GetBody, 429", method: "POST", step: retryStep{status: 429},
			change: func(r *http.Request) { r.Body, r.GetBody = http.NoBody, nil }, again: true},
		{name: "GET, 200", method: "GET", step: retryStep{status: 200, after: "1"}},
		{name: "GET, 204", method: "GET", step: retryStep{status: 204, noBody: true}},
		{name: "GET, 101", method: "GET", step: retryStep{status: 101}},
		{name: "GET, 500", method: "GET", step: retryStep{status: 500}},
		{name: "GET, 500, told to", method: "GET", step: retryStep{status: 500}, retry: weir.Retry{Statuses: []int{500}}, again: true},
		{name: "POST, 500, told to", method: "POST", step: retryStep{status: 500}, retry: weir.Retry{Statuses: []int{500}}},
		{name: "GET, 429, told other statuses", method: "GET", step: retryStep{status: 429}, retry: weir.Retry{Statuses: []int{500}}},
		{name: "GET, 429, told none", method: "GET", step: retryStep{status: 429}, retry: weir.Retry{Statuses: []int{}}},
		{name: "GET, error", method: "GET", step: retryStep{err: broken}},
		{name: "GET, error, told to", method: "GET", step: retryStep{err: broken}, retry: weir.Retry{Errors: true}, again: true},
		{name: "GET, timeout of the base, told to", method: "GET", step: retryStep{err: context.DeadlineExceeded}, retry: weir.Retry{Errors: true}, again: true},
		{name: "GET, network error, told to", method: "GET", step: retryStep{err: &net.OpError{Op: "dial", Err: io.EOF}}, retry: weir.Retry{Errors: true}, again: true},
		{name: "POST, error, told to", method: "POST", body: "x", step: retryStep{err: broken}, retry: weir.Retry{Errors: true}},
		{name: "POST with a key, error, told to", method: "POST", body: "x", step: retryStep{err: broken}, retry: weir.Retry{Errors: true},
			change: with(header, "a"), again: true},
		{name: "GET, certificate not trusted", method: "GET", retry: weir.Retry{Errors: true},
			step: retryStep{err: fmt.Errorf("dial: %w", &tls.CertificateVerificationError{Err: io.EOF})}},
		{name: "GET, refusal of a Transport inside", method: "GET", step: retryStep{err: &weir.LimitedError{}}, retry: weir.Retry{Errors: true}},
		{name: "GET, store failure of a Transport inside", method: "GET", step: retryStep{err: &weir.StoreError{Err: io.EOF}}, retry: weir.Retry{Errors: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := &retryBase{steps: []retryStep{c.step, {status: 200, body: "fine"}}}
				c.retry.Times = 1
				tr, store := retrying(t, base, weir.TransportConfig{Retry: c.retry})
				req, bodies := retryRequest(t, c.method, c.body)
				if c.change != nil {
					c.change(req)
				}
				resp, err := tr.RoundTrip(req)
				want := 1
				if c.again {
					want = 2
				}
				if base.attempts() != want || len(store.granted) != want {
					t.Fatalf("%d attempts, %d charged, want %d", base.attempts(), len(store.granted), want)
				}
				for i, body := range base.bodies {
					if body != c.body {
						t.Errorf("attempt %d sent %q, want %q", i, body, c.body)
					}
				}
				if c.body != "" {
					bodies.check(t, want)
				}
				switch {
				case !c.again && c.step.err != nil:
					if resp != nil || !errors.Is(err, c.step.err) {
						t.Errorf("got %v, %v", resp, err)
					}
				case err != nil:
					t.Error(err)
				case c.again != (resp.StatusCode == 200) && c.step.status != 200:
					t.Errorf("status %d", resp.StatusCode)
				case resp.Body != nil:
					_ = resp.Body.Close()
				}
				base.check(t)
			})
		})
	}
}

func TestNoRetryByDefault(t *testing.T) {
	t.Parallel()
	base := &retryBase{steps: []retryStep{{status: 429, after: "1", body: "slow down"}}}
	tr, store := retrying(t, base, weir.TransportConfig{})
	req, _ := retryRequest(t, "GET", "")
	resp, err := tr.RoundTrip(req)
	if err != nil || resp.StatusCode != 429 || len(store.granted) != 1 || base.sent[0] != req || base.read.Load() != 0 {
		t.Errorf("%v, %v: %d charged, %d bytes read", resp, err, len(store.granted), base.read.Load())
	}
}

// TestRetryDoesNotModifyRequest, even when the base does so to what it gets.
func TestRetryDoesNotModifyRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := &retryBase{steps: []retryStep{{status: 429}}}
		base.hold = func(n int, r *http.Request) {
			if n > 0 {
				r.Header.Set("X-Signed", fmt.Sprint(n))
				r.URL.Path = "/elsewhere"
				r.Trailer.Set("X-Sum", "1")
			}
		}
		tr, store := retrying(t, base, weir.TransportConfig{Retry: weir.Retry{Times: 3}})
		req, bodies := retryRequest(t, "POST", "hello")
		req.Trailer = http.Header{"X-Sum": nil}
		req.Header.Set("X-User", "ann")
		before := transportSnap(req)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		after := transportSnap(req)
		if fmt.Sprint(before.url, before.header, before.trailer) != fmt.Sprint(after.url, after.header, after.trailer) ||
			before.shallow.Body != after.shallow.Body || before.shallow.ContentLength != after.shallow.ContentLength {
			t.Errorf("before: %+v\nafter:  %+v", before, after)
		}
		for i, sent := range base.sent {
			if (sent == req) != (i == 0) || sent.Header.Get("X-User") != "ann" || sent.ContentLength != 5 || sent.Context() != req.Context() {
				t.Errorf("attempt %d: %+v", i, sent)
			}
			if signed := sent.Header.Get("X-Signed"); i > 0 && signed != fmt.Sprint(i) {
				t.Errorf("attempt %d has what an earlier one was given: %q", i, signed)
			}
		}
		if got := strings.Join(store.keys(), " "); got != strings.TrimSpace(strings.Repeat("http://api.example ", 4)) {
			t.Errorf("charged %s", got)
		}
		bodies.check(t, 4)
		base.check(t)
	})
}

// TestRetryTellsHook of every further attempt, and of no other.
func TestRetryTellsHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := &retryBase{steps: []retryStep{{status: 429, after: "3"}, {err: io.EOF}, {status: 200}}}
		var got []weir.Event
		l, err := weir.New(weir.Config{Store: &transportStore{}, Limits: []weir.Limit{weir.PerSecond(1)}, Name: "out",
			Hook: weir.HookFunc(func(_ context.Context, e weir.Event) {
				if e.Kind == weir.EventRetry {
					got = append(got, e)
				}
			})})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Base: base, Retry: weir.Retry{Times: 9, Errors: true, Backoff: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := retryRequest(t, "GET", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0].Attempt != 2 || got[0].Wait != 3*time.Second || got[0].Err != nil || got[0].Scope != "out" ||
			got[1].Attempt != 3 || got[1].Wait > 2*time.Second || got[1].Err != io.EOF {
			t.Errorf("told of %+v", got)
		}
	})
}
