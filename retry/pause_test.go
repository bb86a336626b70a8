package retry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
)

// TestPause: the pause is that of the response, or else a part of Backoff.
func TestPause(t *testing.T) {
	t.Parallel()
	const date = "Fri, 31 Dec 1999 12:00:00 GMT" // the test starts at 2000-01-01 00:00:00
	dated := func(s string) http.Header { return http.Header{"Date": {s}} }
	for _, c := range []struct {
		name    string
		step    step
		cfg     retry.Config
		exactly time.Duration
		random  bool // at most Backoff
		final   bool // no further attempt
	}{
		{name: "seconds", step: step{after: "7"}, exactly: 7 * time.Second},
		{name: "seconds, the longer of two", step: step{header: http.Header{"Retry-After": {"7", "8"}}}, exactly: 8 * time.Second},
		{name: "a date against the response's", step: step{after: "Fri, 31 Dec 1999 12:00:09 GMT", header: dated(date)}, exactly: 9 * time.Second},
		{name: "a date without one", step: step{after: "Sat, 01 Jan 2000 00:00:05 GMT"}, exactly: 5 * time.Second},
		{name: "a date in the form of RFC 850", step: step{after: "Friday, 31-Dec-99 12:00:09 GMT", header: dated(date)}, exactly: 9 * time.Second},
		{name: "a date in the form of asctime", step: step{after: "Fri Dec 31 12:00:09 1999", header: dated(date)}, exactly: 9 * time.Second},
		{name: "after a status that is no refusal", step: step{status: 502, after: "20"}, exactly: 20 * time.Second},
		{name: "the reset of a budget", step: step{status: 429, header: http.Header{
			"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"30"}}}, exactly: 30 * time.Second},
		{name: "the dialect of the host", step: step{status: 429, header: http.Header{"X-Left": {"0"}, "X-Back": {"40"}}},
			cfg: retry.Config{Upstream: &upstream.Reader{Dialects: map[string]upstream.Dialect{
				"api.example": upstream.Fields{Remaining: "X-Left", Reset: "X-Back", Unit: time.Second}}}}, exactly: 40 * time.Second},
		{name: "as long as the default", step: step{after: "900"}, exactly: 15 * time.Minute},
		{name: "longer than the default", step: step{after: "901"}, final: true},
		{name: "as long as MaxWait", step: step{after: "5"}, cfg: retry.Config{MaxWait: 5 * time.Second}, exactly: 5 * time.Second},
		{name: "longer than MaxWait", step: step{after: "6"}, cfg: retry.Config{MaxWait: 5 * time.Second}, final: true},
		{name: "MaxWait beyond the default", step: step{after: "3600"}, cfg: retry.Config{MaxWait: time.Hour}, exactly: time.Hour},
		{name: "as long as the Reader's MaxPause", step: step{after: "3600"},
			cfg: retry.Config{Upstream: &upstream.Reader{MaxPause: time.Hour}}, exactly: time.Hour},
		{name: "overflow of a duration", step: step{after: "9223372037"}, final: true},
		{name: "overflow of a number", step: step{after: "99999999999999999999999"}, final: true},
		{name: "year 9999", step: step{after: "Fri, 31 Dec 9999 23:59:59 GMT"}, final: true},
		{name: "nothing", random: true},
		{name: "0", step: step{after: "0"}, random: true},
		{name: "negative", step: step{after: "-1"}, random: true},
		{name: "a date in the past", step: step{after: "Fri, 31 Dec 1999 11:59:59 GMT", header: dated(date)}, random: true},
		{name: "nonsense", step: step{after: "soon"}, random: true},
		{name: "from a cache", step: step{after: "20", header: http.Header{"Age": {"5"}}}, random: true},
		{name: "an error", step: step{err: io.EOF}, random: true},
		{name: "Backoff longer than MaxWait", cfg: retry.Config{MaxWait: time.Nanosecond}, exactly: time.Nanosecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if c.step.status == 0 {
					c.step.status = 503
				}
				sender := &base{steps: []step{c.step, {status: 200}}}
				c.cfg.Backoff = time.Second
				req, _ := request(t, "GET", "")
				resp, err := over(t, sender, c.cfg).RoundTrip(req)
				if err != nil || (sender.attempts() == 1) != c.final {
					t.Fatalf("%v after %d attempts", err, sender.attempts())
				}
				_ = resp.Body.Close()
				sender.check(t)
				if c.final {
					return
				}
				waited := sender.at[1].Sub(sender.at[0])
				if c.random && (waited <= 0 || waited > time.Second) || !c.random && waited != c.exactly {
					t.Errorf("waited %v, want %v", waited, c.exactly)
				}
			})
		})
	}
}

// TestBackoffGrows up to its highest bound, and is spread below each bound.
func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cfg    retry.Config
		bounds []time.Duration
	}{
		{"default", retry.Config{}, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
			8 * time.Second, 16 * time.Second, 20 * time.Second, 20 * time.Second}},
		{"chosen", retry.Config{Backoff: time.Second, MaxBackoff: 5 * time.Second},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}},
		{"longer than the default's bound", retry.Config{Backoff: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		{"the longest", retry.Config{Backoff: 1 << 61, MaxBackoff: 1<<63 - 1, MaxWait: 1<<63 - 1},
			[]time.Duration{1 << 61, 1 << 62, 1<<63 - 1, 1<<63 - 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const rounds = 200
				means := make([]time.Duration, len(c.bounds))
				c.cfg.Max, c.cfg.Budget = len(c.bounds), 100*len(c.bounds)
				seen := 0
				c.cfg.Observe = func(_ *http.Request, a retry.Attempt) {
					bound := c.bounds[a.Number-2]
					if a.Pause <= 0 || a.Pause > bound {
						t.Errorf("pause %v before attempt %d, want at most %v", a.Pause, a.Number, bound)
					}
					means[a.Number-2] += a.Pause / rounds
					seen++
				}
				if c.bounds[0] > time.Hour { // the bubble's clock ends in 2262
					c.cfg.Veto = func(*http.Request, *http.Response, error) bool { return true }
				}
				tr := over(t, &base{steps: []step{{status: 503}}}, c.cfg)
				for range rounds {
					req, _ := request(t, "GET", "")
					if _, err := tr.RoundTrip(req); err != nil {
						t.Fatal(err)
					}
				}
				if c.cfg.Veto == nil && seen != rounds*len(c.bounds) {
					t.Errorf("%d further attempts", seen)
				}
				for i, bound := range c.bounds {
					// Twelve standard deviations of the mean of 200.
					if mean := means[i]; c.cfg.Veto == nil && (mean < bound/4 || mean > bound*3/4) {
						t.Errorf("mean pause %v before attempt %d, want about %v", mean, i+2, bound/2)
					}
				}
			})
		})
	}
}

// TestDeadline: a pause that would pass the deadline is not begun.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		deadline time.Duration
		base     time.Duration // of each attempt
		err      error         // of the base
		attempts int
		after    time.Duration
	}{
		{name: "none", attempts: 4, after: 30 * time.Second},
		{name: "before the first pause ends", deadline: 9 * time.Second, attempts: 1},
		{name: "when the first pause ends", deadline: 10 * time.Second, attempts: 1},
		{name: "before the third pause ends", deadline: 29 * time.Second, attempts: 3, after: 20 * time.Second},
		{name: "counts the time in the base", deadline: 19 * time.Second, base: 10 * time.Second, attempts: 1, after: 10 * time.Second},
		{name: "over when the response comes", deadline: time.Second, base: 10 * time.Second, attempts: 1, after: 10 * time.Second},
		{name: "over when the base fails", deadline: time.Second, base: 10 * time.Second, err: context.DeadlineExceeded, attempts: 1, after: 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: []step{{status: 429, after: "10", body: "slow down", err: c.err}}}
				sender.hold = func(int, *http.Request) { time.Sleep(c.base) }
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				req, made := request(t, "PUT", "hello")
				start := time.Now()
				resp, err := over(t, sender, retry.Config{Max: 3}).RoundTrip(req.WithContext(ctx))
				if took := time.Since(start); sender.attempts() != c.attempts || took != c.after {
					t.Errorf("%d attempts after %v, want %d after %v", sender.attempts(), took, c.attempts, c.after)
				}
				made.check(t, c.attempts)
				if err != c.err {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				if body, err := io.ReadAll(resp.Body); string(body) != "slow down" || err != nil || resp.StatusCode != 429 {
					t.Errorf("status %d, body %q, %v", resp.StatusCode, body, err)
				}
				_ = resp.Body.Close()
				sender.check(t)
			})
		})
	}
}

// TestCancelledInTheBase: the request is cancelled in the base. Its response still is the
// outcome, and stays whole.
func TestCancelledInTheBase(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	sender := &base{steps: []step{{status: 429, body: "slow down"}}, hold: func(int, *http.Request) { cancel() }}
	req, made := request(t, "PUT", "hello")
	resp, err := over(t, sender, retry.Config{}).RoundTrip(req.WithContext(ctx))
	if err != nil || sender.attempts() != 1 || sender.read.Load() != 0 {
		t.Fatalf("%v after %d attempts, %d bytes were read", err, sender.attempts(), sender.read.Load())
	}
	_ = resp.Body.Close()
	made.check(t, 1)
	sender.check(t)
}

// TestContextEnds during a pause: the call returns the context's error at once, and leaves
// nothing open.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	limited := &weir.LimitedError{RetryAfter: 10 * time.Second}
	for _, c := range []struct {
		name  string
		steps []step
		read  func([]byte) (int, error) // of the response that is replaced
		after time.Duration
		made  int // bodies
	}{
		{name: "after a response", steps: []step{{status: 429, after: "10", body: "slow down"}}, after: 5 * time.Second, made: 2},
		{name: "after a long response", steps: []step{{status: 429, after: "10", body: text(9 << 10)}}, after: 5 * time.Second, made: 2},
		{name: "at the start of the pause", steps: []step{{status: 429, after: "10"}}, after: 1, made: 2},
		{name: "while the response is read", steps: []step{{status: 429, after: "10"}}, after: time.Second / 2, made: 2,
			read: func([]byte) (int, error) { time.Sleep(time.Minute); return 0, io.EOF }},
		{name: "after an error", steps: []step{{err: io.EOF}}, after: 1, made: 2},
		{name: "after a refusal", steps: []step{{status: 429, after: "1"}, {err: limited}}, after: 5 * time.Second, made: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				sender := &base{steps: c.steps}
				sender.hold = func(n int, _ *http.Request) {
					if n == 0 {
						time.AfterFunc(c.after, cancel)
					}
				}
				tr := over(t, baseFunc(func(r *http.Request) (*http.Response, error) {
					resp, err := sender.RoundTrip(r)
					if err == nil && c.read != nil {
						resp.Body.(*countedBody).Reader = readerFunc(c.read)
					}
					return resp, err
				}), retry.Config{Backoff: 1 << 50, MaxWait: 1 << 51})
				req, made := request(t, "PUT", "hello")
				start := time.Now()
				resp, err := tr.RoundTrip(req.WithContext(ctx))
				if resp != nil || err != context.Canceled || time.Since(start) != c.after {
					t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
				}
				made.check(t, c.made)
				sender.check(t)
				time.Sleep(time.Minute) // until all reads have ended
			})
		})
	}
}

// TestCauseOfTheEnd of the context is kept.
func TestCauseOfTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		tr := over(t, &base{steps: []step{{status: 429, after: "10"}}}, retry.Config{})
		req, _ := request(t, "PUT", "hello")
		if _, err := tr.RoundTrip(req.WithContext(ctx)); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestRefusedAttempt: a further attempt that the base refuses is asked for again
// after its RetryAfter, without counting as another attempt.
func TestRefusedAttempt(t *testing.T) {
	t.Parallel()
	limited := func(after time.Duration) step { return step{err: &weir.LimitedError{RetryAfter: after}} }
	again, fine, never := step{status: 429, after: "1"}, step{status: 200}, step{err: &weir.LimitedError{Reason: weir.ReasonNeverFits, RetryAfter: 1<<63 - 1}}
	for _, c := range []struct {
		name     string
		steps    []step
		deadline time.Duration
		maxWait  time.Duration
		attempts int // with those that were refused
		status   int // 0: the refusal
		after    time.Duration
	}{
		{"once", []step{again, limited(time.Second), fine}, 0, time.Minute, 3, 200, 2 * time.Second},
		{"three times", []step{again, limited(1), limited(2), limited(3), fine}, 0, time.Minute, 5, 200, time.Second + 6},
		{"four times", []step{again, limited(1), limited(1), limited(1), limited(1), fine}, 0, time.Minute, 5, 0, time.Second + 3},
		{"each attempt anew", []step{again, limited(1), limited(1), again, limited(1), limited(1), fine}, 0, time.Minute, 7, 200, 2*time.Second + 4},
		{"never admitted", []step{again, never}, 0, time.Minute, 2, 0, time.Second},
		{"never admitted, without a bound", []step{again, never}, 0, 1<<63 - 1, 2, 0, time.Second},
		{"no time is known", []step{again, limited(0)}, 0, time.Minute, 2, 0, time.Second},
		{"longer than MaxWait", []step{again, limited(time.Minute + 1)}, 0, time.Minute, 2, 0, time.Second},
		{"as long as MaxWait", []step{again, limited(time.Minute), fine}, 0, time.Minute, 3, 200, time.Minute + time.Second},
		{"beyond the deadline", []step{again, limited(9 * time.Second)}, 10 * time.Second, time.Minute, 2, 0, time.Second},
		{"the first attempt", []step{limited(1), fine}, 0, time.Minute, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: c.steps}
				req, made := request(t, "POST", "hello")
				if c.deadline > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
					defer cancel()
					req = req.WithContext(ctx)
				}
				start := time.Now()
				resp, err := over(t, sender, retry.Config{MaxWait: c.maxWait}).RoundTrip(req)
				if sender.attempts() != c.attempts || time.Since(start) != c.after {
					t.Errorf("%d attempts after %v, want %d after %v", sender.attempts(), time.Since(start), c.attempts, c.after)
				}
				if c.status == 0 && (resp != nil || !errors.Is(err, weir.ErrLimited)) || c.status != 0 && (err != nil || resp.StatusCode != c.status) {
					t.Errorf("%v, %v, want status %d", resp, err, c.status)
				}
				if resp != nil {
					_ = resp.Body.Close()
				}
				made.check(t, c.attempts)
				sender.check(t)
			})
		})
	}
}

// TestAroundTransport: every attempt is charged, leaves when the pause of its key has
// ended, and gets a lease.
func TestAroundTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		after    []string
		refuse   bool
		inFlight int64
		body     string // of each response
		attempts int
	}{
		{name: "waiting", after: []string{"10"}, attempts: 2},
		{name: "refusing", after: []string{"10"}, refuse: true, attempts: 2},
		{name: "refusing, a short pause", after: []string{"0.01"}, refuse: true, attempts: 2},
		{name: "refusing, a tiny pause", after: []string{"0.0000001"}, refuse: true, attempts: 2},
		{name: "refusing, twice", after: []string{"10", "1"}, refuse: true, attempts: 3},
		{name: "in flight", after: []string{"10"}, inFlight: 1, attempts: 2},
		{name: "in flight, a long response", after: []string{"10"}, inFlight: 1, body: text(200 << 10), attempts: 2},
		{name: "in flight, refusing", after: []string{"10", "1"}, refuse: true, inFlight: 1, body: text(200 << 10), attempts: 3},
		{name: "longer than MaxWait", after: []string{"61"}, inFlight: 1, attempts: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{}
				for _, after := range c.after {
					sender.steps = append(sender.steps, step{status: 429, after: after, body: c.body})
				}
				sender.steps = append(sender.steps, step{status: 200})
				transport, limiter := limited(t, sender, weir.PerHour(1000).By(weir.SlidingWindow), c.inFlight, c.refuse)
				req, made := request(t, "POST", "hello")
				resp, err := over(t, transport, retry.Config{MaxWait: time.Minute}).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if sender.attempts() != c.attempts || (resp.StatusCode == 200) != (c.attempts == len(sender.steps)) {
					t.Fatalf("status %d after %d attempts, want %d", resp.StatusCode, sender.attempts(), c.attempts)
				}
				for i, at := range sender.at[1:] {
					asked, _ := time.ParseDuration(c.after[i] + "s")
					if waited := at.Sub(sender.at[i]); waited < asked || waited > asked+100*time.Millisecond {
						t.Errorf("attempt %d after %v, the response asked for %v", i+2, waited, asked)
					}
				}
				sender.check(t)
				for i, body := range made.all {
					if body.closed.Load() != 1 {
						t.Errorf("body %d was closed %d times", i, body.closed.Load())
					}
				}
				if err := limiter.Resume(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.inFlight > 0 {
					lease, err := limiter.TryAcquireN(t.Context(), "key", 0)
					if err != nil {
						t.Fatal(err)
					}
					lease.Release()
				}
				if d, err := limiter.Peek(t.Context(), "key"); err != nil || d.Remaining != int64(1000-c.attempts) {
					t.Errorf("%d remaining of 1000 after %d attempts, %v", d.Remaining, c.attempts, err)
				}
			})
		})
	}
}

// TestRefusedTogether: requests that are refused shortly after each other are all tried
// again, though the last refusal's pause holds for all.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]bool{"waiting": false, "refusing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n = 8
				sender := &base{steps: make([]step, n+1)}
				for i := range n {
					sender.steps[i] = step{status: 429, after: "10"}
				}
				sender.steps[n] = step{status: 200}
				sender.hold = func(i int, _ *http.Request) {
					if i < n {
						time.Sleep(time.Duration(i+1) * 12 * time.Millisecond)
					}
				}
				transport, _ := limited(t, sender, weir.PerSecond(1000).WithBurst(1000), 0, refuse)
				tr := over(t, transport, retry.Config{Max: 1})
				var wg sync.WaitGroup
				for range n {
					wg.Go(func() {
						req, _ := request(t, "GET", "")
						resp, err := tr.RoundTrip(req)
						if err != nil || resp.StatusCode != 200 {
							t.Errorf("%v, %v", resp, err)
							return
						}
						_ = resp.Body.Close()
					})
				}
				wg.Wait()
				sender.check(t)
			})
		})
	}
}

// TestLongPauseHoldsNoPlace: a call in a long pause has no lease, so other calls go on.
func TestLongPauseHoldsNoPlace(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"short": "slow down", "long": text(9 << 10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: []step{{status: 502, after: "60", body: body}, {status: 200}}}
				transport, limiter := limited(t, sender, weir.PerSecond(1000).WithBurst(1000), 1, false)
				time.AfterFunc(2*time.Second, func() {
					lease, err := limiter.TryAcquire(t.Context(), "key")
					if err != nil {
						t.Error(err)
						return
					}
					lease.Release()
				})
				req, _ := request(t, "GET", "")
				resp, err := over(t, transport, retry.Config{}).RoundTrip(req)
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("%v, %v", resp, err)
				}
				_ = resp.Body.Close()
				sender.check(t)
			})
		})
	}
}

// limited returns a weir.Transport over a base, with the key "key" for everything,
// and its limiter.
func limited(tb testing.TB, base http.RoundTripper, limit weir.Limit, inFlight int64, refuse bool) (*weir.Transport, *weir.Limiter) {
	tb.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{limit}, InFlight: inFlight})
	if err != nil {
		tb.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyStatic("key"), Base: base, Refuse: refuse})
	if err != nil {
		tb.Fatal(err)
	}
	return transport, limiter
}
