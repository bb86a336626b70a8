package weir_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func TestOutbound(t *testing.T) {
	t.Parallel()
	window := func(n int64, name string, period time.Duration) weir.Limit {
		return weir.Per(n, period).By(weir.SlidingWindow).WithName(name)
	}
	for name, c := range map[string]struct{ got, want weir.Limit }{
		"25 per 5 s":        {weir.Outbound(25, 5*time.Second), window(25, "25-in-5s", 5200*time.Millisecond)},
		"10 per second":     {weir.Outbound(10, time.Second), window(10, "10-in-1s", 1050*time.Millisecond)},
		"5 per 100 ms":      {weir.Outbound(5, 100*time.Millisecond), window(5, "5-in-100ms", 150*time.Millisecond)},
		"300 per minute":    {weir.Outbound(300, time.Minute), window(300, "300-in-1m", 61*time.Second)},
		"5000 per hour":     {weir.Outbound(5000, time.Hour), window(5000, "5000-in-1h", time.Hour+time.Second)},
		"1000 per day":      {weir.Outbound(1000, 24*time.Hour), window(1000, "1000-in-1d", 24*time.Hour+time.Second)},
		"1 per second":      {weir.Outbound(1, time.Second), window(1, "1-in-1s", 1050*time.Millisecond)},
		"1 per 2 s":         {weir.Outbound(1, 2*time.Second), window(1, "1-in-2s", 2080*time.Millisecond)},
		"60 per minute":     {weir.Outbound(60, time.Minute), window(1, "60-in-1m", 1050*time.Millisecond)},
		"61 per minute":     {weir.Outbound(61, time.Minute), window(61, "61-in-1m", 61*time.Second)},
		"7 per 10 s":        {weir.Outbound(7, 10*time.Second), window(1, "7-in-10s", 1485713*time.Microsecond)},
		"1 per microsecond": {weir.Outbound(1, time.Microsecond), window(1, "1-in-1us", 50001*time.Microsecond)},
	} {
		if c.got != c.want || c.got.Validate() != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, c.got, c.got.Validate(), c.want)
		}
	}
	for name, l := range map[string]weir.Limit{
		"no units":        weir.Outbound(0, time.Second),
		"negative units":  weir.Outbound(-1, time.Minute),
		"no period":       weir.Outbound(25, 0),
		"negative period": weir.Outbound(25, -time.Minute),
		"fine period":     weir.Outbound(25, time.Second+1),
		"longest period":  weir.Outbound(25, math.MaxInt64),
	} {
		if err := l.Validate(); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%s: got %v, want a ConfigError", name, err)
		}
	}
}

// jitter returns random times in flight of up to 50 ms.
func jitter(seed uint64) func(*http.Request) time.Duration {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	return func(*http.Request) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(r.IntN(50_000)) * time.Microsecond
	}
}

// share returns the part of a rate that arrivals used after the first burst.
func share(arrivals weirtest.Arrivals, burst int64, unit time.Duration) float64 {
	n := len(arrivals)
	lasted := arrivals[n-1].At.Sub(arrivals[0].At)
	return float64(time.Duration(int64(n)-burst)*unit) / float64(lasted)
}

// TestOutboundIsRight: providers that enforce "n per period" in their own way refuse
// none of the calls, and most of their rate is used. A call is on its way for 0 to
// 50 ms.
func TestOutboundIsRight(t *testing.T) {
	t.Parallel()
	type says struct {
		n      int64
		period time.Duration
	}
	providers := map[string]func(weir.Limit) weir.Limit{
		"aligned window":             func(l weir.Limit) weir.Limit { return l.By(store.AlignedWindow) },
		"window from its first call": func(l weir.Limit) weir.Limit { return l.By(store.FixedWindow) },
		"log":                        func(l weir.Limit) weir.Limit { return l.By(store.SlidingWindow) },
		"bucket":                     func(l weir.Limit) weir.Limit { return l.WithBurst(l.Rate) },
	}
	spaced := map[string]func(weir.Limit) weir.Limit{"even spacing": func(l weir.Limit) weir.Limit { return weir.Per(1, l.Period/time.Duration(l.Rate)).WithBurst(1) }}
	for name := range providers {
		spaced[name] = providers[name]
	}
	for name, c := range map[string]struct {
		says      []says
		calls     int
		providers map[string]func(weir.Limit) weir.Limit
	}{
		"25 per 5 s":              {[]says{{25, 5 * time.Second}}, 400, providers},
		"300 per minute":          {[]says{{300, time.Minute}}, 600, providers},
		"25 per 5 s, 300 per min": {[]says{{25, 5 * time.Second}, {300, time.Minute}}, 400, providers},
		"10 per second":           {[]says{{10, time.Second}}, 400, providers},
		"500 per 6 minutes":       {[]says{{500, 6 * time.Minute}}, 1000, providers},
		"60 per minute":           {[]says{{60, time.Minute}}, 400, spaced},
		"1 per second":            {[]says{{1, time.Second}}, 400, spaced},
		"1 per 2 s":               {[]says{{1, 2 * time.Second}}, 400, spaced},
	} {
		for kind, enforced := range c.providers {
			var ours, theirs []weir.Limit
			for _, s := range c.says {
				ours = append(ours, weir.Outbound(s.n, s.period))
				theirs = append(theirs, enforced(weir.Per(s.n, s.period)))
			}
			first := c.says[0]
			for _, way := range []outboundWay{
				{name: "ignored", processes: 1, ignore: true, seed: 1},
				{name: "heeded", processes: 2, seed: 2},
				{name: "heeded, its headers too", processes: 2, said: dialects.XRateLimitDelta, seed: 3},
			} {
				t.Run(name+"/"+kind+"/"+way.name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						all := way.send(t, c.calls, weirtest.ProviderConfig{Limits: theirs}, ours)
						if n := len(all.Refused()); n != 0 || len(all) != c.calls {
							t.Errorf("%d of %d calls were refused, want 0 of %d", n, len(all), c.calls)
						}
						used := share(all, ours[0].Max(), first.period/time.Duration(first.n))
						if used < 0.95 || used > 1 {
							t.Errorf("%.1f %% of the rate was used, want 95 to 100", 100*used)
						}
						t.Logf("%.2f %%", 100*used)
					})
				})
			}
		}
	}
}

// outboundWay is a way to send calls: from one process, or from two that share a store.
type outboundWay struct {
	name      string
	processes int
	ignore    bool // the provider's headers
	said      func(http.Header, *http.Request, weirtest.Answer)
	seed      uint64
}

// send sends calls from 20 goroutines, and returns their arrivals.
func (w *outboundWay) send(t *testing.T, calls int, cfg weirtest.ProviderConfig, ours []weir.Limit) weirtest.Arrivals {
	cfg.Travel, cfg.Latency, cfg.Hook = jitter(w.seed), jitter(w.seed+100), w.said
	provider, err := weirtest.NewProvider(cfg)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(w.seed) * 777 * time.Millisecond) // into the provider's windows
	shared := localStore(t)
	var processes []http.RoundTripper
	for range w.processes {
		l := onLocal(t, weir.Config{Name: "provider", Store: shared, Limits: ours})
		processes = append(processes, overLimiter(t, l, provider.Transport(), func(cfg *weir.TransportConfig) { cfg.IgnoreUpstream = w.ignore }))
	}
	callFrom(t, 20, calls, processes...)
	return provider.Arrivals()
}

// callFrom makes calls from goroutines, which take turns among the transports.
func callFrom(t *testing.T, goroutines, calls int, transports ...http.RoundTripper) {
	var begun atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for begun.Add(1) <= int64(calls) {
				resp, err := transports[i%len(transports)].RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

// TestTransportRefusesAnUnsaidBurst: with a burst of n, GCRA lets nearly 2n calls leave
// in one period. So a Transport accepts GCRA with an explicit burst only.
func TestTransportRefusesAnUnsaidBurst(t *testing.T) {
	t.Parallel()
	right := weir.Outbound(300, time.Minute)
	for name, c := range map[string]struct {
		limits []weir.Limit
		wider  bool // on a level
		want   string
	}{
		"Outbound":             {limits: []weir.Limit{weir.Outbound(25, 5*time.Second), right}},
		"a bucket":             {limits: []weir.Limit{weir.Per(25, 5*time.Second).WithBurst(25)}},
		"a window":             {limits: []weir.Limit{weir.Per(25, 5*time.Second).By(weir.FixedWindow)}},
		"Per":                  {limits: []weir.Limit{weir.Per(25, 5*time.Second)}, want: "TransportConfig.Limiter: want Outbound(25, 5s) for a provider that allows 25 per 5s, or WithBurst(n) for its token bucket of n, got 25-in-5s by GCRA without a Burst, which lets up to 49 leave in 5s and has no margin"},
		"Per beside Outbound":  {limits: []weir.Limit{right, weir.PerSecond(1)}, want: "TransportConfig.Limiter: want Outbound(1, 1s)"},
		"Per with a margin":    {limits: []weir.Limit{weir.PerSecond(10).Stretch(time.Second)}, want: "TransportConfig.Limiter: want "},
		"Per on a wider level": {limits: []weir.Limit{weir.PerMinute(60)}, wider: true, want: "TransportConfig.Levels[0].Limiter: want Outbound(60, 1m0s)"},
	} {
		cfg := weir.TransportConfig{Limiter: onLocal(t, weir.Config{Name: "narrow", Limits: []weir.Limit{right}}), Key: weir.KeyStatic("key")}
		l := onLocal(t, weir.Config{Name: "other", Limits: c.limits})
		if c.wider {
			cfg.Levels = []weir.TransportLevel{{Limiter: l, Key: weir.KeyStatic("key")}}
		} else {
			cfg.Limiter = l
		}
		_, err := weir.NewTransport(cfg)
		if (err != nil) != (c.want != "") || err != nil && (!errors.Is(err, weir.ErrConfig) || !strings.HasPrefix(err.Error(), "weir: "+c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// estimating is a provider that counts by its limiter's algorithm, with times in flight of
// up to 50 ms.
type estimating struct {
	*weir.Limiter
	travel  func(*http.Request) time.Duration
	refused atomic.Int64
}

func (p *estimating) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(p.travel(r))
	d, err := p.Allow(r.Context(), "caller")
	if err != nil {
		return nil, err
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: http.NoBody, Request: r}
	if !d.Allowed {
		p.refused.Add(1)
		resp.StatusCode = http.StatusTooManyRequests
		resp.Header.Set("Retry-After", strconv.Itoa(int((d.RetryAfter+time.Second-1)/time.Second)))
	}
	time.Sleep(p.travel(r))
	return resp, nil
}

// TestTwoWeightedWindows: a provider that estimates refuses calls after a full window. It
// refuses no call of an evenly spaced limit with a margin: one unit fewer, and the units
// that the rate yields in the variation of the time on the way. Other providers refuse
// none of these calls either. A limit that counts as the provider does uses less.
func TestTwoWeightedWindows(t *testing.T) {
	t.Parallel()
	spaced := func(n int64, period time.Duration) weir.Limit { return weir.Per(n, period).WithBurst(1) }
	for name, c := range map[string]struct {
		n      int64
		period time.Duration
		ours   weir.Limit
		none   bool    // refused
		used   float64 // of the rate, at least
	}{
		"25 per 5 s, at once":     {25, 5 * time.Second, weir.Outbound(25, 5*time.Second), false, 0},
		"25 per 5 s, spaced":      {25, 5 * time.Second, spaced(95, 20*time.Second), true, 0.95},
		"25 per 5 s, one fewer":   {25, 5 * time.Second, spaced(24, 5*time.Second), false, 0},
		"25 per 5 s, mirrored":    {25, 5 * time.Second, weir.Outbound(25, 5*time.Second).By(weir.SlidingCounter), false, 0},
		"300 per minute, spaced":  {300, time.Minute, spaced(1195, 4*time.Minute), true, 0.99},
		"10 per second, at once":  {10, time.Second, weir.Outbound(10, time.Second), false, 0},
		"10 per second, spaced":   {10, time.Second, spaced(17, 2*time.Second), true, 0.85},
		"100 per 10 s, spaced":    {100, 10 * time.Second, spaced(197, 20*time.Second), true, 0.98},
		"60 per minute, Outbound": {60, time.Minute, weir.Outbound(60, time.Minute), true, 0.95},
	} {
		for _, theirs := range []weir.Algorithm{weir.SlidingCounter, weir.FixedWindow, weir.AlignedWindow, weir.SlidingWindow, weir.GCRA} {
			if theirs != weir.SlidingCounter && !c.none {
				continue
			}
			t.Run(fmt.Sprint(name, "/", theirs), func(t *testing.T) {
				t.Parallel()
				refused, used := int64(0), 1.0
				for seed := range uint64(10) {
					synctest.Test(t, func(t *testing.T) {
						n, u := weighted(t, seed, weir.Per(c.n, c.period).By(theirs), c.ours)
						refused, used = max(refused, n), min(used, u)
					})
				}
				if c.none != (refused == 0) || c.none && used < c.used-0.005 {
					t.Errorf("up to %d calls were refused, at least %.1f %% of the rate was used", refused, 100*used)
				}
				t.Logf("up to %d refused, at least %.2f %%", refused, 100*used)
			})
		}
	}
}

// weighted sends 400 calls, and returns how many were refused, and the share of the rate
// that was used.
func weighted(t *testing.T, seed uint64, theirs, ours weir.Limit) (refused int64, used float64) {
	p := &estimating{Limiter: onLocal(t, weir.Config{Name: "theirs", Limits: []weir.Limit{theirs}}), travel: jitter(seed)}
	time.Sleep(time.Duration(seed) * 777 * time.Millisecond) // into the provider's windows
	tr := overLimiter(t, onLocal(t, weir.Config{Name: "ours", Limits: []weir.Limit{ours}}), p, nil)
	start := time.Now()
	callFrom(t, 20, 400, tr)
	return p.refused.Load(), float64(400-ours.Max()) * float64(theirs.Period) / float64(theirs.Rate) / float64(time.Since(start))
}

// TestLowerLimitBesideAFasterOne: the upstream's limit is slightly lower than our slow one.
// A fast limit of ours beside that makes no difference to the pace, which may be a quarter slower.
func TestLowerLimitBesideAFasterOne(t *testing.T) {
	t.Parallel()
	second, minute := weir.Outbound(10, time.Second), weir.Outbound(100, time.Minute)
	for name, ours := range map[string][]weir.Limit{
		"the slow one alone": {minute},
		"both":               {second, minute},
		"a fixed window":     {second, minute.By(weir.FixedWindow)},
		"a slower one too":   {second, minute, weir.Outbound(100_000, 24*time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 2, weirtest.ProviderConfig{
					Limits: []weir.Limit{weir.PerMinute(90).By(weir.AlignedWindow)}, Hook: dialects.Draft11,
					Latency: func(*http.Request) time.Duration { return 5 * time.Millisecond },
				}, ours...)
				go f.send(t, 5, 14*time.Minute)
				time.Sleep(3 * time.Minute)
				before := f.provider.Counts()
				time.Sleep(10 * time.Minute)
				after := f.provider.Counts()
				if n := after.Admitted - before.Admitted; n < 600 || after.Refused() != before.Refused() {
					t.Errorf("%d admitted in 10 minutes at 90 per minute, %d refused", n, after.Refused()-before.Refused())
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}
