package weir_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestRetryAfterThePause: an attempt is made when a pause that the store sees to
// has ended, whether the Transport refuses, waits, or waits just as long as the
// upstream asks for.
func TestRetryAfterThePause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after    []string
		maxWait  time.Duration // of the Transport
		limiter  time.Duration // MaxWait of the limiter
		refuse   bool
		inFlight int64
		within   bool
		attempts int
	}{
		"waiting":                           {after: []string{"10"}, attempts: 2},
		"refusing":                          {after: []string{"10"}, refuse: true, attempts: 2},
		"refusing, a short pause":           {after: []string{"0.01"}, refuse: true, attempts: 2},
		"refusing, a tiny pause":            {after: []string{"0.0000001"}, refuse: true, attempts: 2},
		"refusing, twice":                   {after: []string{"10", "1"}, refuse: true, attempts: 3},
		"refusing, with leases":             {after: []string{"10"}, refuse: true, inFlight: 1, attempts: 2},
		"refusing, within another limit":    {after: []string{"10"}, refuse: true, within: true, attempts: 2},
		"refusing, as long as the limiter":  {after: []string{"10"}, refuse: true, limiter: 10 * time.Second, attempts: 2},
		"refusing, longer than the limiter": {after: []string{"10"}, refuse: true, limiter: 9 * time.Second, attempts: 1},
		"as long as MaxWait":                {after: []string{"10"}, maxWait: 10 * time.Second, attempts: 2},
		"as long as MaxWait, in two":        {after: []string{"10", "1"}, maxWait: 11 * time.Second, attempts: 3},
		"longer than MaxWait, in two":       {after: []string{"10", "2"}, maxWait: 11 * time.Second, attempts: 2},
		"longer than MaxWait":               {after: []string{"10"}, maxWait: 9990 * time.Millisecond, attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := &retryBase{}
				for _, after := range test.after {
					base.steps = append(base.steps, retryStep{status: 429, after: after})
				}
				base.steps = append(base.steps, retryStep{status: 200})
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000)}, MaxWait: test.limiter, InFlight: test.inFlight})
				tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
					cfg.Refuse, cfg.MaxWait, cfg.Retry = test.refuse, test.maxWait, weir.Retry{Times: 2}
					if test.within {
						wide := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000)}, Name: "wide"})
						cfg.Within = []weir.TransportLimit{{Limiter: wide, Key: weir.KeyStatic("all")}}
					}
				})
				start := time.Now()
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				base.check(t)
				if base.attempts() != test.attempts || (resp.StatusCode == 200) != (test.attempts == len(base.steps)) {
					t.Fatalf("status %d after %d attempts, want %d", resp.StatusCode, base.attempts(), test.attempts)
				}
				for i, at := range base.at[1:] {
					asked, _ := time.ParseDuration(test.after[i] + "s")
					if waited := at.Sub(base.at[i]); waited < asked || waited > asked+50*time.Millisecond {
						t.Errorf("attempt %d after %v, %v were asked for", i+2, waited, asked)
					}
				}
				if test.attempts == 1 && time.Since(start) > 0 {
					t.Errorf("no attempt after %v, which was known at once", time.Since(start))
				}
			})
		})
	}
}

// TestRetryAfterOfAnyStatus is waited for by the request itself, and by no other:
// only a refusal says something of limits.
func TestRetryAfterOfAnyStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 408, 409, 413, 425, 500, 502, 504} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprint(status, ", ignoring the upstream ", ignore), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					base := &retryBase{steps: []retryStep{{status: status, after: "20"}, {status: 200}}}
					l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000)}})
					tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
						cfg.IgnoreUpstream, cfg.Retry = ignore, weir.Retry{Times: 1, Statuses: []int{status}}
					})
					time.AfterFunc(time.Second, func() {
						if d, err := l.Allow(t.Context(), "key"); err != nil || !d.Allowed {
							t.Errorf("another call meanwhile: %+v, %v", d, err)
						}
					})
					resp, err := tr.RoundTrip(getRequest(t, t.Context()))
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Fatalf("%v, %v", resp, err)
					}
					_ = resp.Body.Close()
					base.check(t)
					if waited := base.at[1].Sub(base.at[0]); waited != 20*time.Second {
						t.Errorf("sent again after %v, 20 s were asked for", waited)
					}
				})
			})
		}
	}
}

// TestRefusedTogether: of requests that were refused one shortly after the other
// each is sent again, though the pause of the last is that of all.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 8
		base := &retryBase{steps: make([]retryStep, n+1)}
		for i := range n {
			base.steps[i] = retryStep{status: http.StatusTooManyRequests, after: "10"}
		}
		base.steps[n] = retryStep{status: http.StatusOK}
		base.hold = func(i int, _ *http.Request) {
			if i < n {
				time.Sleep(time.Duration(i+1) * 12 * time.Millisecond)
			}
		}
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000)}})
		tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) { cfg.Refuse, cfg.Retry = true, weir.Retry{Times: 1} })
		statuses := make(chan int, n)
		for range n {
			go func() {
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Error(err)
					statuses <- 0
					return
				}
				_ = resp.Body.Close()
				statuses <- resp.StatusCode
			}()
		}
		for range n {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		}
		base.check(t)
	})
}
