package weir_test

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// headers returns a header of names and values by turns.
func headers(lines ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

// takesFor returns the time that n requests take over limits when each response has the
// same headers.
func takesFor(t *testing.T, n int, said http.Header, change func(*weir.TransportConfig), limits ...weir.Limit) time.Duration {
	t.Helper()
	l := onLocal(t, weir.Config{Name: "api", Limits: buckets(limits...)})
	tr := overLimiter(t, l, &scriptedBase{steps: []scriptedStep{{status: http.StatusOK, header: said}}}, change)
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

// TestWhatIsSaidIsCompared: a lower limit of the upstream's slows requests down. A limit
// that is not lower, counts another unit or has another window slows none down.
func TestWhatIsSaidIsCompared(t *testing.T) {
	t.Parallel()
	tokens := func(n int64) func(*weir.TransportConfig) {
		return func(cfg *weir.TransportConfig) {
			cfg.Cost = func(*http.Request) (int64, error) { return n, nil }
		}
	}
	for name, c := range map[string]struct {
		limits      []weir.Limit
		change      func(*weir.TransportConfig)
		said        http.Header
		n           int
		least, most time.Duration
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
		"more than our units by a margin, beside a longer limit": {
			limits: []weir.Limit{weir.Per(22, 5*time.Second), weir.Per(270, time.Minute)}, n: 22,
			said: headers("X-RateLimit-Limit", "25", "X-RateLimit-Remaining", "10", "X-RateLimit-Reset", "6"),
		},
		"more than our share, beside a longer limit": {
			limits: []weir.Limit{weir.Per(10, 5*time.Second), weir.Per(120, time.Minute)}, n: 10,
			said: headers("X-RateLimit-Limit", "25", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "5"),
		},
		"a bucket larger than ours by a margin": {
			limits: []weir.Limit{weir.PerMinute(120).WithBurst(38)}, n: 60, most: 11 * time.Second,
			said: headers("X-RateLimit-Limit", "40", "X-RateLimit-Remaining", "20", "X-RateLimit-Reset", "15"),
		},
		"a lower one than the longer limit, more than the other": {
			limits: []weir.Limit{weir.Per(25, 5*time.Second), weir.Per(300, time.Minute)}, n: 20, least: 18 * time.Second, most: 22 * time.Second,
			said: headers("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "40"),
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
		"a lower one, ours stretched, beside a limit of a day": {
			limits: []weir.Limit{weir.PerSecond(10).Stretch(100 * time.Millisecond), weir.PerDay(1000)}, n: 30, least: 5 * time.Second, most: 7 * time.Second,
			said: headers("RateLimit-Policy", `"s";q=5;w=1`, "RateLimit", `"s";r=4;t=1`),
		},
		"the same limit, ours stretched, beside a limit of a day": {
			limits: []weir.Limit{weir.PerSecond(10).Stretch(100 * time.Millisecond), weir.PerDay(1000)}, n: 30, most: 3 * time.Second,
			said: headers("RateLimit-Policy", `"s";q=10;w=1`, "RateLimit", `"s";r=9;t=1`),
		},
		"the same limit, of which others have used most": {
			limits: []weir.Limit{weir.PerHour(1000)}, n: 8, least: 36 * time.Second, most: 40 * time.Second,
			said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "100", "X-RateLimit-Reset", "946685400"),
		},
		"the longer limit, of which others have used most": {
			limits: []weir.Limit{weir.PerSecond(10), weir.PerHour(1000)}, n: 8, least: 36 * time.Second, most: 40 * time.Second,
			said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "100", "X-RateLimit-Reset", "946685400"),
		},
		"the longer limit, of which others have used all": {
			limits: []weir.Limit{weir.PerSecond(10), weir.PerHour(1000)}, n: 2, least: 10 * time.Minute, most: 11 * time.Minute,
			said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946685400"),
		},
		"less than is left, by a comma": {
			limits: []weir.Limit{weir.PerMinute(1200)}, n: 50,
			said: headers("X-RateLimit-Limit", "1,200", "X-RateLimit-Remaining", "999", "X-RateLimit-Reset", "50"),
		},
		"less than is left, its window named": {
			limits: []weir.Limit{weir.PerMinute(1200)}, n: 50,
			said: headers("RateLimit-Policy", `"m";q=1;w=60`, "RateLimit", `"m";r=999;t=50`),
		},
		"seconds by the header's name": {
			limits: []weir.Limit{weir.Per(100, 10*time.Second)}, n: 50,
			said: headers("X-HubSpot-RateLimit-Secondly", "10", "X-HubSpot-RateLimit-Secondly-Remaining", "7"),
		},
		"a day by the header's name, half used": {
			limits: []weir.Limit{weir.Per(190, 10*time.Second)}, n: 100,
			said: headers("X-HubSpot-RateLimit-Daily", "500000", "X-HubSpot-RateLimit-Daily-Remaining", "250000",
				"X-HubSpot-RateLimit-Interval-Milliseconds", "10000", "X-HubSpot-RateLimit-Max", "190", "X-HubSpot-RateLimit-Remaining", "180"),
		},
		"an hour far beyond our period": {
			limits: []weir.Limit{weir.PerSecond(10)}, n: 30, most: 2 * time.Second,
			said: headers("RateLimit-Policy", `"h";q=10000;w=3600`, "RateLimit", `"h";r=9999;t=3599`),
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

// TestRefusalOfAnotherQuota: a refused search of GitHub pauses the key of the core's 5000 an hour
// for the minute until the reset, and slows it down no longer.
func TestRefusalOfAnotherQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		search := headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684860", "X-RateLimit-Resource", "search")
		core := headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4900", "X-RateLimit-Reset", "946688400", "X-RateLimit-Resource", "core")
		base := &scriptedBase{steps: []scriptedStep{{status: http.StatusForbidden, header: search}, {status: http.StatusOK, header: core}}}
		tr := overLimiter(t, onLocal(t, weir.Config{Limits: []weir.Limit{weir.Outbound(5000, time.Hour)}}), base, nil)
		start := time.Now()
		for range 50 {
			resp, err := tr.RoundTrip(getRequest(t, t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		if took := time.Since(start); took < time.Minute || took > 62*time.Second {
			t.Errorf("50 requests took %v, want a minute", took)
		}
	})
}

// TestSmallerBucket: the upstream's bucket holds fewer units than our limit sends at once. After a
// few refusals the requests leave one by one, although each refusal says for how long to pause.
func TestSmallerBucket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		theirs, ours weir.Limit
		most         int64
	}{
		"10 per second": {weir.PerSecond(10).WithBurst(3), weir.Outbound(10, time.Second), 60},
		"100 per 10 s":  {weir.Per(100, 10*time.Second).WithBurst(20), weir.Outbound(100, 10*time.Second), 120},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, weirtest.ProviderConfig{Limits: []weir.Limit{c.theirs}, Travel: func(*http.Request) time.Duration { return 5 * time.Millisecond }}, c.ours)
				f.send(t, 5, 10*time.Minute)
				if n := f.provider.Counts(); n.Refused() > c.most || n.Admitted < 4800 {
					t.Errorf("%d admitted of 6000, %d refused", n.Admitted, n.Refused())
				}
			})
		})
	}
}

// TestWhatIsSaidOfAWiderLimit: a budget of a wider limit is compared with that limit, and
// slows its key down.
func TestWhatIsSaidOfAWiderLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said  http.Header
		least time.Duration
		most  time.Duration
	}{
		"the same":                              {headers("RateLimit-Policy", `"hour";q=5000;w=3600`, "RateLimit", `"hour";r=4990;t=3500`), 0, time.Second},
		"more":                                  {headers("RateLimit-Policy", `"hour";q=6000;w=3600`, "RateLimit", `"hour";r=5990;t=3500`), 0, time.Second},
		"less":                                  {headers("RateLimit-Policy", `"hour";q=1800;w=3600`, "RateLimit", `"hour";r=1790;t=3500`), 36 * time.Second, 42 * time.Second},
		"a minute, lower than the narrow limit": {headers("RateLimit-Policy", `"m";q=60;w=60`, "RateLimit", `"m";r=50;t=55`), 18 * time.Second, 22 * time.Second},
		"used much":                             {headers("RateLimit-Policy", `"hour";q=5000;w=3600`, "RateLimit", `"hour";r=100;t=1000`), 50 * time.Second, 210 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wide := onLocal(t, weir.Config{Name: "host", Limits: buckets(weir.PerHour(5000))})
				within := func(cfg *weir.TransportConfig) {
					cfg.Levels = []weir.TransportLevel{{Limiter: wide, Key: weir.KeyStatic("host")}}
				}
				took := takesFor(t, 20, c.said, within, weir.PerSecond(10).WithBurst(20))
				if took < c.least || took > c.most {
					t.Errorf("20 requests took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}

// TestNothingLeftOfAWiderLimit: a used-up wide limit pauses all keys under it. A used-up
// narrow limit pauses its own key alone. Both hold also if our limits have a margin.
func TestNothingLeftOfAWiderLimit(t *testing.T) {
	t.Parallel()
	const pause, mostSlack = 50 * time.Second, 50 * time.Millisecond
	for name, c := range map[string]struct {
		said   http.Header
		margin time.Duration
		other  time.Duration // when another token's request leaves
		host   int64         // the units of our limit
		free   bool          // it is another limit than ours: it pauses nothing
	}{
		"of the host, its window named":               {headers("RateLimit-Policy", `"m";q=1000;w=60`, "RateLimit", `"m";r=0;t=50`), 0, pause, 1000, false},
		"of the host, its window named, a margin":     {headers("RateLimit-Policy", `"m";q=1000;w=60`, "RateLimit", `"m";r=0;t=50`), 500 * time.Millisecond, pause, 1000, false},
		"of the host, no window, a margin":            {headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"), 500 * time.Millisecond, pause, 1000, false},
		"of the token, its window named, a margin":    {headers("RateLimit-Policy", `"m";q=100;w=60`, "RateLimit", `"m";r=0;t=50`), 500 * time.Millisecond, 0, 1000, false},
		"of as many as the host has, in another time": {headers("RateLimit-Policy", `"h";q=1000;w=600`, "RateLimit", `"h";r=0;t=50`), 500 * time.Millisecond, 0, 1000, true},
		"of the host, its window named, fewer units":  {headers("RateLimit-Policy", `"m";q=1000;w=60`, "RateLimit", `"m";r=0;t=50`), 0, pause, 980, false},
		"of the host, no window, fewer units":         {headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"), 0, pause, 980, false},
		"of the token, the host's units not far more": {headers("RateLimit-Policy", `"m";q=100;w=60`, "RateLimit", `"m";r=0;t=50`), 0, 0, 110, false},
		"of the host, the token's units not far less": {headers("RateLimit-Policy", `"m";q=110;w=60`, "RateLimit", `"m";r=0;t=50`), 0, pause, 110, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScoped(t, weir.PerMinute(100).Stretch(c.margin), weir.PerMinute(c.host).Stretch(c.margin))
				s.base.steps = []scriptedStep{{status: http.StatusOK, header: c.said}, {status: http.StatusOK}}
				start := time.Now()
				for _, next := range []struct {
					token string
					at    time.Duration
				}{{"A", 0}, {"B", c.other}, {"A", pause}} {
					if c.free {
						next.at = 0
					}
					if err := s.do(t, t.Context(), next.token); err != nil {
						t.Fatal(err)
					}
					if at := time.Since(start); at < next.at || at > next.at+mostSlack {
						t.Errorf("%s left after %v, want %v", next.token, at, next.at)
					}
				}
			})
		})
	}
}

// TestWhatIsSaidHoldsNobodyLonger: an upstream's budget holds requests up for at most
// MaxPause, whatever they cost. A refusal holds them up until the rate is whole again,
// at most.
func TestWhatIsSaidHoldsNobodyLonger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said   http.Header
		status int
		cost   int64
		most   time.Duration
	}{
		"a limit of one":            {headers("RateLimit-Policy", `"x";q=1;w=60`, "RateLimit", `"x";r=1;t=60`), http.StatusOK, 1000, 15 * time.Minute},
		"refused, nothing is said":  {nil, http.StatusTooManyRequests, 250, 3*time.Minute + time.Second},
		"refused, and a huge limit": {headers("X-RateLimit-Limit", "1", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "86400"), http.StatusTooManyRequests, 1000, 15*time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerHour(1000).WithBurst(100_000)}})
				base := &scriptedBase{steps: []scriptedStep{{status: c.status, header: c.said}, {status: http.StatusOK}}}
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

// TestWhatIsSaidInOtherUnits: one limit counts requests and another tokens. Each is
// compared with budgets in its own unit.
func TestWhatIsSaidInOtherUnits(t *testing.T) {
	t.Parallel()
	requests := func(limit, remaining, reset string) []string {
		return []string{"x-ratelimit-limit-requests", limit, "x-ratelimit-remaining-requests", remaining, "x-ratelimit-reset-requests", reset}
	}
	tokens := func(limit, remaining, reset string) []string {
		return []string{"x-ratelimit-limit-tokens", limit, "x-ratelimit-remaining-tokens", remaining, "x-ratelimit-reset-tokens", reset}
	}
	for name, c := range map[string]struct {
		said        []string
		least, most time.Duration
	}{
		"requests agree":           {requests("5000", "2000", "36s"), 0, time.Second},
		"requests are fewer":       {requests("60", "50", "55s"), 18 * time.Second, 22 * time.Second},
		"tokens agree":             {tokens("600000", "590000", "1s"), 0, time.Second},
		"tokens are fewer":         {tokens("60000", "50000", "55s"), 18 * time.Second, 22 * time.Second},
		"of both requests few":     {append(requests("60", "30", "55s"), tokens("600000", "590000", "1s")...), 18 * time.Second, 40 * time.Second},
		"bytes agree, by the unit": {[]string{"RateLimit-Policy", `"a";q=600000;w=60;qu="content-bytes"`, "RateLimit", `"a";r=590000;t=55`}, 0, time.Second},
		"bytes are fewer":          {[]string{"RateLimit-Policy", `"a";q=60000;w=60;qu="content-bytes"`, "RateLimit", `"a";r=50000;t=55`}, 18 * time.Second, 22 * time.Second},
		"calls under way are few":  {[]string{"RateLimit-Policy", `"a";q=40;qu="concurrent-requests"`, "RateLimit", `"a";r=2;t=55`}, 0, time.Second},
		"without a word for unit":  {[]string{"x-ratelimit-limit", "60", "x-ratelimit-remaining", "50", "x-ratelimit-reset", "55"}, 18 * time.Second, 22 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				of := onLocal(t, weir.Config{Name: "requests", Limits: buckets(weir.PerMinute(4500))})
				both := func(cfg *weir.TransportConfig) {
					cfg.Cost = func(*http.Request) (int64, error) { return 1000, nil }
					cfg.Levels = []weir.TransportLevel{{Limiter: of, Key: weir.KeyStatic("key")}}
				}
				if took := takesFor(t, 20, headers(c.said...), both, weir.PerMinute(500_000)); took < c.least || took > c.most {
					t.Errorf("20 requests of 1000 tokens took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}

// TestLowerLimitIsToldOnce: the store gets one brake for each change of an upstream's
// lower limit, however near its reset is, and however many requests wait.
func TestLowerLimitIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours, theirs weir.Limit
		every        time.Duration
		workers      int
		most         int // brakes
	}{
		"a window, now and then":       {weir.PerMinute(100), weir.PerMinute(60).By(weir.AlignedWindow), 5 * time.Second, 1, 3},
		"a window, busy":               {weir.PerMinute(100), weir.PerMinute(60).By(weir.AlignedWindow), 0, 10, 12},
		"a bucket that is nearly full": {weir.PerMinute(540).WithBurst(1), weir.PerMinute(500), 0, 50, 3},
		"a bucket, now and then":       {weir.PerMinute(600), weir.PerMinute(500), 700 * time.Millisecond, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := weirtest.ProviderConfig{Limits: []weir.Limit{c.theirs}, Hook: dialects.XRateLimitDelta, Latency: func(*http.Request) time.Duration { return time.Millisecond }}
				f := newFleet(t, 1, cfg, c.ours)
				time.Sleep(13 * time.Second)
				var wg sync.WaitGroup
				for range c.workers {
					wg.Go(func() {
						for range 150 / c.workers {
							f.get(t, 0)
							time.Sleep(c.every)
						}
					})
				}
				wg.Wait()
				if n := f.store.brakes; n > c.most || f.store.takes > 200 || f.provider.Counts().Refused() > 0 {
					t.Errorf("%d brakes and %d decisions for 150 requests: %+v", n, f.store.takes, f.provider.Counts())
				}
			})
		})
	}
}

// TestProxiedRequestGoesByWhereItIsSent: the key is the new origin, whatever URL the
// proxy's client has sent.
func TestProxiedRequestGoesByWhereItIsSent(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/things", "https://up.example/things", "http://up.example/things", "a1://up.example/things"} {
		l := onLocal(t, weir.Config{Limits: buckets(weir.PerHour(5))})
		tr := overLimiter(t, l, &scriptedBase{steps: []scriptedStep{{status: http.StatusOK}}}, func(cfg *weir.TransportConfig) { cfg.Key = weir.KeyHost() })
		req := getRequest(t, t.Context())
		req.URL, req.Host, req.RequestURI = &url.URL{Scheme: "https", Host: "up.example", Path: "/things"}, "up.example", target
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if d, err := l.Peek(t.Context(), "https://up.example"); err != nil || d.Remaining != 4 || req.RequestURI != target {
			t.Errorf("%s: %+v, %v", target, d, err)
		}
	}
}

// TestLateRequestsAreNoNews: requests with the first slots arrive last. Their responses
// say that little is left, because the rest of the fleet has used it. That slows no
// request down.
func TestLateRequestsAreNoNews(t *testing.T) {
	t.Parallel()
	limit := weir.Per(200, 10*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "x-ratelimit": dialects.XRateLimitDelta,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int64
				f := newFleet(t, 4, weirtest.ProviderConfig{
					Limits: []weir.Limit{limit}, Hook: dialect,
					Travel: func(*http.Request) time.Duration {
						if sent.Add(1)%200 <= 20 {
							return 50 * time.Millisecond
						}
						return time.Millisecond
					},
				}, limit.Stretch(400*time.Millisecond))
				f.send(t, 50, 35*time.Second)
				n := f.provider.Counts()
				if f.store.brakes != 0 || n.Refused() != 0 || n.Admitted < 800 {
					t.Errorf("%d brakes, %+v", f.store.brakes, n)
				}
				// The doubt costs a look now and then.
				if most := int(n.Arrived()) + 4 + 4*5; f.store.takes > most {
					t.Errorf("%d requests took %d decisions, want at most %d", n.Arrived(), f.store.takes, most)
				}
			})
		})
	}
}

// TestUseByOthersIsNews: units that strangers have used slow the fleet down.
func TestUseByOthersIsNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := weir.Per(100, 10*time.Second).By(weir.FixedWindow)
		f := newFleet(t, 2, weirtest.ProviderConfig{Limits: []weir.Limit{limit}, Hook: dialects.Draft11}, limit)
		stranger := f.provider.Transport()
		for range 90 {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://api.example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := stranger.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		for i := range 30 {
			f.get(t, i%2)
		}
		if n := f.provider.Counts().Refused(); n != 0 || f.store.brakes == 0 {
			t.Errorf("%d were refused, %d brakes were set", n, f.store.brakes)
		}
	})
}
