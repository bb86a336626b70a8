package weir_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestRetryWaits for what the upstream says, and a part of Backoff otherwise.
func TestRetryWaits(t *testing.T) {
	t.Parallel()
	const date = "Fri, 31 Dec 1999 12:00:00 GMT" // the test starts at 2000-01-01 00:00:00
	dated := func(s string) http.Header { return http.Header{"Date": {s}} }
	for _, c := range []struct {
		name    string
		step    retryStep
		exactly time.Duration
		atMost  time.Duration // by chance
	}{
		{name: "seconds", step: retryStep{after: "7"}, exactly: 7 * time.Second},
		{name: "seconds, the longer of two", step: retryStep{header: http.Header{"Retry-After": {"7", "8"}}}, exactly: 8 * time.Second},
		{name: "a date against the response's", step: retryStep{after: "Fri, 31 Dec 1999 12:00:09 GMT", header: dated(date)}, exactly: 9 * time.Second},
		{name: "a date without one", step: retryStep{after: "Sat, 01 Jan 2000 00:00:05 GMT"}, exactly: 5 * time.Second},
		{name: "a date in the form of RFC 850", step: retryStep{after: "Friday, 31-Dec-99 12:00:09 GMT", header: dated(date)}, exactly: 9 * time.Second},
		{name: "a date in the form of asctime", step: retryStep{after: "Fri Dec 31 12:00:09 1999", header: dated(date)}, exactly: 9 * time.Second},
		{name: "longer than the cap", step: retryStep{after: "86400"}, exactly: 15 * time.Minute},
		{name: "overflow of a duration", step: retryStep{after: "9223372037"}, exactly: 15 * time.Minute},
		{name: "overflow of a number", step: retryStep{after: "99999999999999999999999"}, exactly: 15 * time.Minute},
		{name: "year 9999", step: retryStep{after: "Fri, 31 Dec 9999 23:59:59 GMT"}, exactly: 15 * time.Minute},
		{name: "nothing", atMost: time.Second},
		{name: "0", step: retryStep{after: "0"}, atMost: time.Second},
		{name: "negative", step: retryStep{after: "-1"}, atMost: time.Second},
		{name: "a date that is over", step: retryStep{after: "Fri, 31 Dec 1999 11:59:59 GMT", header: dated(date)}, atMost: time.Second},
		{name: "nonsense", step: retryStep{after: "soon"}, atMost: time.Second},
		{name: "an error", step: retryStep{err: io.EOF}, atMost: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.step.status = 503
				base := &retryBase{steps: []retryStep{c.step, {status: 200}}}
				tr, _ := retrying(t, base, weir.TransportConfig{Retry: weir.Retry{Times: 1, Errors: true, Backoff: time.Second}})
				req, _ := retryRequest(t, "GET", "")
				if _, err := tr.RoundTrip(req); err != nil || base.attempts() != 2 {
					t.Fatalf("%v after %d attempts", err, base.attempts())
				}
				waited := base.at[1].Sub(base.at[0])
				if c.atMost > 0 && (waited <= 0 || waited > c.atMost) || c.atMost == 0 && waited != c.exactly {
					t.Errorf("waited %v, want %v or at most %v", waited, c.exactly, c.atMost)
				}
			})
		})
	}
}

// TestRetryBackoffGrows up to its cap, and is spread over all of it.
func TestRetryBackoffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds = 200
		caps := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		sums := make([]time.Duration, len(caps))
		for range rounds {
			base := &retryBase{steps: []retryStep{{status: 503}}}
			tr, _ := retrying(t, base, weir.TransportConfig{
				Retry: weir.Retry{Times: len(caps), Backoff: time.Second, MaxBackoff: 5 * time.Second},
			})
			req, _ := retryRequest(t, "GET", "")
			if _, err := tr.RoundTrip(req); err != nil || base.attempts() != len(caps)+1 {
				t.Fatalf("%v after %d attempts", err, base.attempts())
			}
			for i, most := range caps {
				waited := base.at[i+1].Sub(base.at[i])
				if waited <= 0 || waited > most {
					t.Fatalf("waited %v before attempt %d, want at most %v", waited, i+2, most)
				}
				sums[i] += waited
			}
		}
		for i, most := range caps {
			// Twelve standard deviations of the mean of 200.
			if mean := sums[i] / rounds; mean < most/4 || mean > most*3/4 {
				t.Errorf("waited %v on average before attempt %d, want about %v", mean, i+2, most/2)
			}
		}
	})
}

// TestRetryInsideBounds: an attempt that would come too late is not made, and
// that is known at once where it can be.
func TestRetryInsideBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		deadline         time.Duration
		maxWait, limiter time.Duration
		refuse           bool
		delay            time.Duration // of each slot
		base             time.Duration // that each attempt takes
		times            int
		attempts         int
		after            time.Duration
	}{
		{name: "no bound", times: 3, attempts: 4, after: 30 * time.Second},
		{name: "deadline before the first pause ends", deadline: 9 * time.Second, times: 3, attempts: 1},
		{name: "deadline when the first pause ends", deadline: 10 * time.Second, times: 3, attempts: 1},
		{name: "deadline before the third pause ends", deadline: 29 * time.Second, times: 3, attempts: 3, after: 20 * time.Second},
		{name: "deadline before the slot", deadline: 14 * time.Second, delay: 3 * time.Second, times: 3, attempts: 1, after: 13 * time.Second},
		{name: "deadline counts the time in the base", deadline: 19 * time.Second, base: 10 * time.Second, times: 3, attempts: 1, after: 10 * time.Second},
		{name: "MaxWait before the first pause ends", maxWait: 9 * time.Second, times: 3, attempts: 1},
		{name: "MaxWait when the first pause ends", maxWait: 10 * time.Second, times: 3, attempts: 2, after: 10 * time.Second},
		{name: "MaxWait counts all pauses together", maxWait: 29 * time.Second, times: 3, attempts: 3, after: 20 * time.Second},
		{name: "MaxWait counts the first slot", maxWait: 12 * time.Second, delay: 3 * time.Second, times: 3, attempts: 1, after: 3 * time.Second},
		{name: "MaxWait before the second slot", maxWait: 15 * time.Second, delay: 3 * time.Second, times: 3, attempts: 1, after: 13 * time.Second},
		{name: "MaxWait when the second slot comes", maxWait: 16 * time.Second, delay: 3 * time.Second, times: 3, attempts: 2, after: 16 * time.Second},
		{name: "MaxWait does not count the time in the base", maxWait: 20 * time.Second, base: time.Minute, times: 3, attempts: 3, after: 200 * time.Second},
		{name: "the limiter's MaxWait", limiter: 19 * time.Second, times: 3, attempts: 2, after: 10 * time.Second},
		{name: "MaxWait in place of the limiter's", maxWait: 20 * time.Second, limiter: time.Second, times: 3, attempts: 3, after: 20 * time.Second},
		{name: "refusing", refuse: true, times: 1, attempts: 2, after: 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := &retryBase{steps: []retryStep{{status: 429, after: "10", body: "slow down"}}}
				base.hold = func(int, *http.Request) { time.Sleep(c.base) }
				store := &transportStore{delay: c.delay}
				l, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1)}, MaxWait: c.limiter})
				if err != nil {
					t.Fatal(err)
				}
				tr, err := weir.NewTransport(weir.TransportConfig{
					Limiter: l, Base: base, MaxWait: c.maxWait, Refuse: c.refuse, Retry: weir.Retry{Times: c.times},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				req, bodies := retryRequest(t, "POST", "hello")
				start := time.Now()
				resp, err := tr.RoundTrip(req.WithContext(ctx))
				took := time.Since(start)
				if err != nil {
					t.Fatal(err)
				}
				if base.attempts() != c.attempts || len(store.granted) != c.attempts || took != c.after {
					t.Errorf("%d attempts, %d charged, after %v; want %d after %v", base.attempts(), len(store.granted), took, c.attempts, c.after)
				}
				if body, err := io.ReadAll(resp.Body); string(body) != "slow down" || err != nil || resp.StatusCode != 429 {
					t.Errorf("status %d, body %q, %v", resp.StatusCode, body, err)
				}
				_ = resp.Body.Close()
				base.check(t)
				for _, b := range bodies.all {
					if b.closed.Load() != 1 {
						t.Errorf("a request body was closed %d times", b.closed.Load())
					}
				}
			})
		})
	}
}

// TestRetryContextEnds while it waits: for the pause, for the slot, for the
// rest of a response.
func TestRetryContextEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		pause   string
		delay   time.Duration
		cancel  time.Duration
		cancels int
	}{
		{name: "during the pause", pause: "10", cancel: 5 * time.Second},
		{name: "while it waits for the slot", pause: "10", delay: 20 * time.Second, cancel: 45 * time.Second, cancels: 1},
	} {
		for _, large := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					step := retryStep{status: 429, after: c.pause, body: "slow down"}
					if large {
						step.body = retryText(200 << 10)
					}
					base := &retryBase{steps: []retryStep{step}}
					store := &transportStore{delay: c.delay}
					tr := transportOver(t, store, weir.TransportConfig{Base: base, Retry: weir.Retry{Times: 3}})
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(c.cancel, cancel)
					req, bodies := retryRequest(t, "POST", "hello")
					start := time.Now()
					resp, err := tr.RoundTrip(req.WithContext(ctx))
					if resp != nil || !errors.Is(err, context.Canceled) || errors.Is(err, weir.ErrLimited) {
						t.Errorf("got %v, %v", resp, err)
					}
					if took := time.Since(start); took != c.cancel {
						t.Errorf("after %v, want %v", took, c.cancel)
					}
					synctest.Wait()
					if store.cancels != c.cancels {
						t.Errorf("%d slots given back, want %d", store.cancels, c.cancels)
					}
					bodies.check(t, 2)
					base.check(t)
				})
			})
		}
	}
}

// slowReader takes a second for each byte.
type slowReader struct{ left int }

func (r *slowReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	r.left--
	p[0] = 'x'
	return 1, nil
}

// TestRetryPauseCountsFromTheResponse, not from when its body was read.
func TestRetryPauseCountsFromTheResponse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		reading int
		length  int64
		waited  time.Duration
	}{
		{"shorter than the pause", 4, -1, 10 * time.Second},
		{"longer than the pause", 12, -1, 12 * time.Second},
		{"too long to be read", 100 << 10, 100 << 10, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				tr, _ := retrying(t, transportFunc(func(*http.Request) (*http.Response, error) {
					at = append(at, time.Now())
					return &http.Response{
						StatusCode: 429, Header: http.Header{"Retry-After": {"10"}},
						ContentLength: c.length, Body: io.NopCloser(&slowReader{c.reading}),
					}, nil
				}), weir.TransportConfig{Retry: weir.Retry{Times: 1}})
				req, _ := retryRequest(t, "GET", "")
				if _, err := tr.RoundTrip(req); err != nil || len(at) != 2 {
					t.Fatalf("%v after %d attempts", err, len(at))
				}
				if waited := at[1].Sub(at[0]); waited != c.waited {
					t.Errorf("waited %v, want %v", waited, c.waited)
				}
			})
		})
	}
}
