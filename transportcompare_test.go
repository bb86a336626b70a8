package weir_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// headers returns a header of names and values by turns.
func headers(lines ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

// takesFor returns how long so many requests take over limits when each response says
// the same.
func takesFor(t *testing.T, n int, said http.Header, change func(*weir.TransportConfig), limits ...weir.Limit) time.Duration {
	t.Helper()
	l := onLocal(t, weir.Config{Name: "api", Limits: limits})
	tr := overLimiter(t, l, &retryBase{steps: []retryStep{{status: http.StatusOK, header: said}}}, change)
	start := time.Now()
	for range n {
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Microsecond) // A slot is not granted at the instant of a brake.
	}
	return time.Since(start).Round(time.Millisecond)
}

// TestWhatIsSaidIsCompared: a limit of the upstream's slows nobody down that is not
// lower than ours, counts something else or is of another window than ours; one that is
// lower does.
func TestWhatIsSaidIsCompared(t *testing.T) {
	t.Parallel()
	tokens := func(n int64) func(*weir.TransportConfig) {
		return func(cfg *weir.TransportConfig) {
			cfg.Cost = func(*http.Request) (int64, error) { return n, nil }
		}
	}
	for name, c := range map[string]struct {
		limits []weir.Limit
		change func(*weir.TransportConfig)
		said   http.Header
		n      int
		least  time.Duration
		most   time.Duration
	}{
		"the same limit": {
			limits: []weir.Limit{weir.Per(900, 15*time.Minute)}, n: 50,
			said: headers("x-rate-limit-limit", "900", "x-rate-limit-remaining", "890", "x-rate-limit-reset", "946685700"),
		},
		"a lower one, its window is named": {
			limits: []weir.Limit{weir.PerMinute(600)}, n: 50, least: 49 * time.Second, most: 55 * time.Second,
			said: headers("RateLimit-Policy", `"m";q=60;w=60`, "RateLimit", `"m";r=55;t=50`),
		},
		"a lower one, its window by the header's name": {
			limits: []weir.Limit{weir.PerSecond(10)}, n: 20, least: 18 * time.Second, most: 20 * time.Second,
			said: headers("X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "55"),
		},
		"a lower one, whose reset is as far away as our window": {
			limits: []weir.Limit{weir.PerMinute(1200)}, n: 50, least: 4 * time.Second, most: 6 * time.Second,
			said: headers("X-Rate-Limit-Limit", "600", "X-Rate-Limit-Remaining", "590", "X-Rate-Limit-Reset", "946684850"),
		},
		"another window than ours, of which much is left": {
			limits: []weir.Limit{weir.PerHour(5000)}, n: 5, most: 6 * time.Second,
			said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "29", "X-RateLimit-Reset", "946684831", "X-RateLimit-Resource", "search"),
		},
		"another window than ours, of which one is left": {
			limits: []weir.Limit{weir.PerHour(5000)}, n: 3, least: 30 * time.Second, most: 35 * time.Second,
			said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "946684831"),
		},
		"a bucket's size, without a time": {
			limits: []weir.Limit{weir.PerMinute(120).WithBurst(38)}, n: 60, most: 11 * time.Second,
			said: headers("X-Shopify-Shop-Api-Call-Limit", "1/40"),
		},
		"a rate, without a time": {
			limits: []weir.Limit{weir.PerMinute(600)}, n: 50,
			said: headers("x-amzn-RateLimit-Limit", "10.0"),
		},
		"seconds by the header's name": {
			limits: []weir.Limit{weir.Per(100, 10*time.Second)}, n: 50,
			said: headers("X-HubSpot-RateLimit-Secondly", "10", "X-HubSpot-RateLimit-Secondly-Remaining", "7"),
		},
		"requests, where tokens are counted": {
			limits: []weir.Limit{weir.PerMinute(30_000)}, change: tokens(500), n: 60,
			said: headers("anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49", "anthropic-ratelimit-requests-reset", "2000-01-01T00:00:55Z",
				"anthropic-ratelimit-tokens-limit", "30000", "anthropic-ratelimit-tokens-remaining", "29500", "anthropic-ratelimit-tokens-reset", "2000-01-01T00:00:01Z"),
		},
		"tokens, where requests are counted": {
			limits: []weir.Limit{weir.PerMinute(5000)}, n: 100,
			said: headers("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
				"x-ratelimit-limit-tokens", "400", "x-ratelimit-remaining-tokens", "10", "x-ratelimit-reset-tokens", "50s"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if took := takesFor(t, c.n, c.said, c.change, c.limits...); took < c.least || took > c.most {
					t.Errorf("%d requests took %v, want %v to %v", c.n, took, c.least, c.most)
				}
			})
		})
	}
}

// TestWhatIsSaidOfAWiderLimit is compared with that, and slows its key down.
func TestWhatIsSaidOfAWiderLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said  http.Header
		least time.Duration
		most  time.Duration
	}{
		"the same":  {headers("RateLimit-Policy", `"hour";q=5000;w=3600`, "RateLimit", `"hour";r=4990;t=3500`), 0, time.Second},
		"more":      {headers("RateLimit-Policy", `"hour";q=6000;w=3600`, "RateLimit", `"hour";r=5990;t=3500`), 0, time.Second},
		"less":      {headers("RateLimit-Policy", `"hour";q=1800;w=3600`, "RateLimit", `"hour";r=1790;t=3500`), 36 * time.Second, 42 * time.Second},
		"used much": {headers("RateLimit-Policy", `"hour";q=5000;w=3600`, "RateLimit", `"hour";r=100;t=1000`), 180 * time.Second, 210 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wide := onLocal(t, weir.Config{Name: "host", Limits: []weir.Limit{weir.PerHour(5000)}})
				within := func(cfg *weir.TransportConfig) {
					cfg.Within = []weir.TransportLimit{{Limiter: wide, Key: weir.KeyStatic("host")}}
				}
				took := takesFor(t, 20, c.said, within, weir.PerSecond(10).WithBurst(20))
				if took < c.least || took > c.most {
					t.Errorf("20 requests took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}

// TestWhatIsSaidHoldsNobodyLonger: however much a call costs, what an upstream says
// keeps nobody away for longer than MaxPause, nor a refusal for longer than until the
// rate is whole again.
func TestWhatIsSaidHoldsNobodyLonger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said   http.Header
		status int
		cost   int64
		most   time.Duration
	}{
		"a limit of one":            {headers("RateLimit-Policy", `"x";q=1;w=60`, "RateLimit", `"x";r=1;t=60`), http.StatusOK, 1000, weir.DefaultMaxPause},
		"refused, nothing is said":  {nil, http.StatusTooManyRequests, 250, 3*time.Minute + time.Second},
		"refused, and a huge limit": {headers("X-RateLimit-Limit", "1", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "86400"), http.StatusTooManyRequests, 1000, weir.DefaultMaxPause + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerHour(1000).WithBurst(100_000)}})
				base := &retryBase{steps: []retryStep{{status: c.status, header: c.said}, {status: http.StatusOK}}}
				tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
					cfg.Cost = func(*http.Request) (int64, error) { return c.cost, nil }
				})
				start := time.Now()
				for range 3 {
					resp, err := tr.RoundTrip(getRequest(t, t.Context()))
					if err != nil {
						t.Fatal(err)
					}
					_ = resp.Body.Close()
				}
				if took := time.Since(start); took > c.most {
					t.Errorf("three requests took %v, want at most %v", took, c.most)
				}
			})
		})
	}
}
