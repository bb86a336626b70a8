package migration

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// A request leaves at the same time with both libraries, to the microsecond.
func TestSameDepartures(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(base http.RoundTripper) http.RoundTripper
		after  func(store weir.Store, base http.RoundTripper) (http.RoundTripper, error)
		gaps   []time.Duration
	}{
		{
			"x/time/rate",
			func(base http.RoundTripper) http.RoundTripper { return &xtimeBefore{rate.NewLimiter(10, 5), base} },
			xtimeAfter, arrivals(1, 300),
		},
		{
			"uber, without slack",
			func(base http.RoundTripper) http.RoundTripper {
				return &uberBefore{ratelimit.New(10, ratelimit.WithoutSlack), base}
			},
			uberAfter, arrivals(2, 300),
		},
		{"failsafe-go, all at once", failsafeBefore, failsafeAfter, make([]time.Duration, 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := departures(t, c.gaps, c.before)
			after := departures(t, c.gaps, func(base http.RoundTripper) http.RoundTripper {
				return must(c.after(newStore(t), base))
			})
			if d := differ(before, after); d > 2*time.Microsecond {
				t.Errorf("a request leaves up to %v earlier or later", d)
			}
			if last := after[len(after)-1]; last < 9*time.Second {
				t.Errorf("the last request left after %v: nothing was limited", last)
			}
		})
	}
}

// With slack, its default, a limiter starts without a burst, and allows 11 calls at once
// after idle time.
func TestUberSlack(t *testing.T) {
	gaps := make([]time.Duration, 50)
	gaps[25] = time.Minute
	before := departures(t, gaps, func(base http.RoundTripper) http.RoundTripper {
		return &uberBefore{ratelimit.New(10), base}
	})
	if first, later := atOnce(before[:25]), atOnce(before[25:]); first != 1 || later != 11 {
		t.Errorf("%d calls at once at the start and %d later, want 1 and 11", first, later)
	}
}

// Its intervals lie on a grid from the limiter's start, so two calls may be closer.
func TestFailsafeGrid(t *testing.T) {
	gaps := []time.Duration{0, 190 * time.Millisecond, 20 * time.Millisecond}
	before := departures(t, gaps, failsafeBefore)
	after := departures(t, gaps, func(base http.RoundTripper) http.RoundTripper { return must(failsafeAfter(newStore(t), base)) })
	if d := spacing(before); d != 20*time.Millisecond {
		t.Errorf("calls are %v apart before, want 20 ms", d)
	}
	if d := spacing(after); d != 100*time.Millisecond {
		t.Errorf("calls are %v apart after, want 100 ms", d)
	}
}

// Without a limit, only refusals slow retries down: the provider refuses calls again and
// again.
func TestRetryablehttp(t *testing.T) {
	for name, c := range map[string]struct {
		client  func(t *testing.T, base http.RoundTripper) *retryablehttp.Client
		refused int64
	}{
		"before": {func(_ *testing.T, base http.RoundTripper) *retryablehttp.Client { return retryableBefore(base) }, 18},
		"after": {func(t *testing.T, base http.RoundTripper) *retryablehttp.Client {
			limiter := must(weir.New(weir.Config{
				Name: "provider", Store: newStore(t), Limits: []weir.Limit{weir.Outbound(2, time.Second)},
			}))
			return retryableAfter(must(weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				provider := must(weirtest.NewProvider(weirtest.ProviderConfig{
					Limits: []weir.Limit{weir.PerSecond(2).By(weir.SlidingWindow)}, RetryAfter: weirtest.RetryAfterNone,
				}))
				client := c.client(t, provider.Transport())
				client.Logger = nil
				var calls sync.WaitGroup
				for range 10 {
					calls.Go(func() {
						if resp, err := client.Get("https://api.example.com/"); err == nil {
							_ = resp.Body.Close()
						}
					})
				}
				calls.Wait()
				if n := provider.Counts().Refused(); n != c.refused {
					t.Errorf("%d calls were refused, want %d", n, c.refused)
				}
			})
		})
	}
}
