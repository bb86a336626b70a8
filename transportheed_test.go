package weir_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
	"github.com/goweir/weir/weirtest"
)

// counted is a store that counts its calls.
type counted struct {
	*localstore.Store
	mu            sync.Mutex
	takes, brakes int
}

func (c *counted) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	c.mu.Lock()
	c.takes++
	c.mu.Unlock()
	return c.Store.Take(ctx, req)
}

func (c *counted) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	c.mu.Lock()
	c.brakes++
	c.mu.Unlock()
	return c.Store.Brake(ctx, charges, b)
}

// fleet is some processes that share a store and a provider. Each has a Transport.
type fleet struct {
	provider *weirtest.Provider
	store    *counted
	members  []*http.Client
}

func newFleet(t *testing.T, members int, cfg weirtest.ProviderConfig, limits ...weir.Limit) *fleet {
	t.Helper()
	provider, err := weirtest.NewProvider(cfg)
	if err != nil {
		t.Fatal(err)
	}
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{provider: provider, store: &counted{Store: local}}
	for range members {
		transport, err := weir.NewTransport(weir.TransportConfig{
			Limiter: onLocal(t, weir.Config{Store: f.store, Limits: buckets(limits...), Name: "api"}),
			Key:     weir.KeyHost(),
			Base:    provider.Transport(),
		})
		if err != nil {
			t.Fatal(err)
		}
		f.members = append(f.members, &http.Client{Transport: transport})
	}
	return f
}

func (f *fleet) get(t *testing.T, member int) int {
	t.Helper()
	resp, err := f.members[member].Get("https://api.example.com/")
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// send sends from n goroutines of every member for some time.
func (f *fleet) send(t *testing.T, goroutines int, lasts time.Duration) {
	var wg sync.WaitGroup
	until := time.Now().Add(lasts)
	for m := range f.members {
		for range goroutines {
			wg.Go(func() {
				for time.Now().Before(until) {
					f.get(t, m)
				}
			})
		}
	}
	wg.Wait()
}

func TestRefusalPausesTheFleet(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]weirtest.RetryAfterForm{
		"seconds": weirtest.RetryAfterSeconds, "a fraction": weirtest.RetryAfterFraction,
		"milliseconds": weirtest.RetryAfterMillis, "a date": weirtest.RetryAfterDate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 2, weirtest.ProviderConfig{RetryAfter: form}, weir.PerSecond(10).WithBurst(1))
				go f.send(t, 5, 9*time.Second)
				time.Sleep(2*time.Second + 50*time.Millisecond)
				f.provider.Refuse(1, 3*time.Second)
				time.Sleep(10 * time.Second)
				all := f.provider.Arrivals()
				refused := all.Refused()
				if len(refused) != 1 {
					t.Fatalf("%d requests were refused, want 1", len(refused))
				}
				at := refused[0].At
				if n := len(all.Between(at.Add(time.Millisecond), at.Add(3*time.Second))); n != 0 {
					t.Errorf("%d requests came in the pause", n)
				}
				resumed := at.Add(3 * time.Second)
				if form == weirtest.RetryAfterDate {
					resumed = resumed.Truncate(time.Second).Add(time.Second) // It has whole seconds.
				}
				if n := len(all.Between(resumed, resumed.Add(2*time.Second))); n < 15 || n > 21 {
					t.Errorf("%d requests came in the two seconds after the pause, want 20 or a few less", n)
				}
				if n := all.Between(at, at.Add(time.Hour)).MaxIn(100 * time.Millisecond); n > 2 {
					t.Errorf("%d requests came within 100 ms", n)
				}
			})
		})
	}
}

// TestLoweredLimitIsHeeded: an upstream lowers its limit. After the first response that
// says so it refuses no request. When it raises the limit again, the fleet uses that.
func TestLoweredLimitIsHeeded(t *testing.T) {
	t.Parallel()
	full := weir.Per(100, 10*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "draft 7": dialects.Draft07, "draft 6": dialects.Draft06,
		"x-ratelimit, epoch": dialects.XRateLimitEpoch, "x-ratelimit, delta": dialects.XRateLimitDelta, "github": dialects.GitHub,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 2, weirtest.ProviderConfig{Limits: []weir.Limit{full}, Hook: dialect, Latency: func(*http.Request) time.Duration { return 5 * time.Millisecond }}, full)
				go f.send(t, 5, 100*time.Second)
				time.Sleep(25 * time.Second)
				if n := f.provider.Counts().Refused(); n != 0 {
					t.Fatalf("%d refused before anything changed", n)
				}
				low := full
				low.Rate = 20
				if err := f.provider.SetLimits(low); err != nil {
					t.Fatal(err)
				}
				time.Sleep(15 * time.Second)
				before := f.provider.Counts()
				time.Sleep(30 * time.Second)
				after := f.provider.Counts()
				if n := after.Refused() - before.Refused(); n != 0 {
					t.Errorf("%d refused at 20 in 10 s, after it was said", n)
				}
				if n := after.Admitted - before.Admitted; n < 40 || n > 60 {
					t.Errorf("%d admitted in 30 s at 20 in 10 s", n)
				}
				if n := before.Refused(); n > 10 { // The calls that can be under way at once.
					t.Errorf("%d refused when the limit was lowered", n)
				}
				if err := f.provider.SetLimits(full); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				before = f.provider.Counts()
				time.Sleep(20 * time.Second)
				after = f.provider.Counts()
				if n := after.Admitted - before.Admitted; n < 180 || after.Refused() != before.Refused() {
					t.Errorf("%d admitted in 20 s at 100 in 10 s, %d refused", n, after.Refused()-before.Refused())
				}
				time.Sleep(20 * time.Second)
			})
		})
	}
}

// TestResponsesTogether: twenty responses say at once, in any order, that the upstream's limit
// is half of ours, with one to twenty units left. Their gaps don't add up to a long pause.
func TestResponsesTogether(t *testing.T) {
	t.Parallel()
	theirs := weir.Per(20, 1500*time.Millisecond).By(weir.FixedWindow)
	ours := weir.Per(40, 1500*time.Millisecond).By(weir.FixedWindow)
	for name, members := range map[string]int{"of one process": 1, "of four": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, members, weirtest.ProviderConfig{
					Limits: []weir.Limit{theirs}, Hook: dialects.Draft11, Latency: func(*http.Request) time.Duration { return 10 * time.Millisecond },
				}, ours)
				f.send(t, 20/members, time.Minute)
				if n := f.provider.Counts().Admitted; n < 400 {
					t.Errorf("%d admitted in a minute, of 800", n)
				}
				if f.store.brakes > 20 {
					t.Errorf("%d brakes", f.store.brakes)
				}
			})
		})
	}
}

// TestNothingLeftPauses: after a response with nothing left, no request leaves before
// the reset.
func TestNothingLeftPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs := weir.Per(10, 10*time.Second).By(weir.FixedWindow)
		f := newFleet(t, 3, weirtest.ProviderConfig{Limits: []weir.Limit{theirs}, Hook: dialects.XRateLimitDelta}, weir.PerSecond(1000))
		for i := range 30 {
			if status := f.get(t, i%3); status != http.StatusOK {
				t.Errorf("request %d: %d", i, status)
			}
		}
		if n := f.provider.Counts(); n.Refused() != 0 || n.Admitted != 30 {
			t.Errorf("%+v", n)
		}
	})
}

// TestRefusalWithoutATimeSlowsTheFleet down, and the fleet returns to its rate.
func TestRefusalWithoutATimeSlowsTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, weirtest.ProviderConfig{RetryAfter: weirtest.RetryAfterNone}, weir.PerSecond(10).WithBurst(1))
		go f.send(t, 5, time.Minute)
		time.Sleep(5*time.Second + 50*time.Millisecond)
		f.provider.Refuse(1, 0)
		time.Sleep(500 * time.Millisecond)
		from := time.Now()
		time.Sleep(30 * time.Second)
		all := f.provider.Arrivals()
		if n := len(all.Between(from, from.Add(2*time.Second))); n < 9 || n > 12 {
			t.Errorf("%d requests in the two seconds after the refusal, want about 10: half of the rate", n)
		}
		if n := len(all.Between(from.Add(18*time.Second), from.Add(20*time.Second))); n < 19 || n > 21 {
			t.Errorf("%d requests in two seconds later on, want 20", n)
		}
		time.Sleep(30 * time.Second)
	})
}

// TestLiesStopNobodyForLong: whatever an upstream says, no request waits for longer than
// MaxPause.
func TestLiesStopNobodyForLong(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]dialects.Dialect{
		"far future": dialects.LieFarFuture, "negative": dialects.LieNegative, "overflow": dialects.LieOverflow, "rubbish": dialects.LieRubbish,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, weirtest.ProviderConfig{Hook: lie, Limits: []weir.Limit{weir.PerSecond(100)}, RetryAfter: weirtest.RetryAfterNone}, weir.PerSecond(10))
				start := time.Now()
				for range 3 {
					f.get(t, 0)
				}
				if took := time.Since(start); took > 30*time.Minute {
					t.Errorf("three requests took %v", took)
				}
			})
		})
	}
}

// TestAgreeingUpstreamCostsNoCall of the store, but for one per request.
func TestAgreeingUpstreamCostsNoCall(t *testing.T) {
	t.Parallel()
	limit := weir.Per(50, 10*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"nothing said": nil, "draft 11": dialects.Draft11, "draft 6": dialects.Draft06, "x-ratelimit": dialects.XRateLimitEpoch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 4, weirtest.ProviderConfig{
					Limits: []weir.Limit{limit}, Hook: dialect, Latency: func(*http.Request) time.Duration { return time.Millisecond },
				}, limit)
				f.send(t, 5, 60*time.Second)
				sent := int(f.provider.Counts().Arrived())
				// One more for each process, when the first of its calls had to wait.
				if f.store.brakes != 0 || f.store.takes < sent || f.store.takes > sent+4 {
					t.Errorf("%d requests took %d decisions and %d brakes", sent, f.store.takes, f.store.brakes)
				}
				if f.provider.Counts().Refused() != 0 || sent < 6*50 {
					t.Errorf("%+v in a minute at 50 in 10 s", f.provider.Counts())
				}
			})
		})
	}
}

// TestRefusalWithoutATimeUnderSeveralLimits: the refusal halves the rate of the present
// pace. A day's limit, which is far away, keeps its rate.
func TestRefusalWithoutATimeUnderSeveralLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][]weir.Limit{
		"one":          {weir.PerSecond(10)},
		"and a day's":  {weir.PerSecond(10), weir.PerDay(10_000)},
		"and a life's": {weir.PerSecond(10), weir.Per(100_000, store.MaxPeriod)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, weirtest.ProviderConfig{RetryAfter: weirtest.RetryAfterNone}, limits...)
				f.send(t, 1, 10*time.Second)
				f.provider.Refuse(1, 0)
				f.send(t, 1, time.Second)
				before := f.provider.Counts().Arrived()
				f.send(t, 1, 10*time.Second)
				if n := f.provider.Counts().Arrived() - before; n < 45 || n > 80 {
					t.Errorf("%d requests in the 10 s after it, want 50 and more", n)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestRefusalWithoutATimeUnderASlowLimit: the refusal is heeded however slow the limit
// is.
func TestRefusalWithoutATimeUnderASlowLimit(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]weir.Limit{
		"one a day": weir.PerDay(1).WithBurst(3), "one in a life": weir.Per(1, store.MaxPeriod), "the fastest": weir.Per(store.MaxUnits, time.Microsecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, weirtest.ProviderConfig{RetryAfter: weirtest.RetryAfterNone}, limit)
				f.provider.Refuse(1, 0)
				f.get(t, 0)
				d, err := f.store.Take(t.Context(), store.Request{Charges: []store.Charge{{Scope: "api", Key: "https://api.example.com", Limit: store.Limit(limit)}}})
				if err != nil || d.Clock == nil || d.Clock.Real(d.At+1_000_000) <= d.At+1_000_000 {
					t.Errorf("%+v, %v; want it slowed down", d, err)
				}
			})
		})
	}
}

// TestDialectOfTheHostThatWasAsked is heeded also if the base leaves the request out of
// its response. The response stays as it is.
func TestDialectOfTheHostThatWasAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host  string
		named bool
		least time.Duration
	}{
		"its request is named":         {"example.com", true, time.Minute},
		"no request is named":          {"example.com", false, time.Minute},
		"no request, another's":        {"api.example.org", false, 0},
		"its request is named, others": {"api.example.org", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := transportFunc(func(r *http.Request) (*http.Response, error) {
					resp := &http.Response{StatusCode: http.StatusOK, Header: headers("X-Quota-Left", "0", "X-Quota-Renewed", "60"), Body: http.NoBody}
					if c.named {
						resp.Request = r
					}
					return resp, nil
				})
				tr := overLimiter(t, onLocal(t, weir.Config{Limits: buckets(weir.PerSecond(10))}), base, func(cfg *weir.TransportConfig) {
					cfg.Upstream = &upstream.Reader{Dialects: map[string]upstream.Dialect{c.host: upstream.Fields{Remaining: "X-Quota-Left", Reset: "X-Quota-Renewed"}}}
				})
				start := time.Now()
				for range 2 {
					resp, err := tr.RoundTrip(getRequest(t, t.Context()))
					if err != nil || (resp.Request != nil) != c.named {
						t.Fatal(resp, err)
					}
				}
				if took := time.Since(start); took < c.least || took > c.least+time.Second {
					t.Errorf("the second request left after %v, want %v", took, c.least)
				}
			})
		})
	}
}

// TestPausesWithoutEnd: an upstream's bucket is slower than our limit, and its refusals
// have a Retry-After alone. It does not refuse most requests after each pause.
func TestPausesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		upstream, ours weir.Limit
		callers        int
		most, least    int64 // refused and admitted in two minutes
	}{
		// The bucket admits 40 at once and 2 per second, 280.
		"a bucket, five times as slow": {weir.PerSecond(2).WithBurst(40), weir.PerSecond(10), 8, 140, 265},
		"a bucket, with many callers":  {weir.PerSecond(2).WithBurst(40), weir.PerSecond(10).WithBurst(100), 100, 220, 265},
		"a bucket, half as fast":       {weir.PerSecond(2).WithBurst(40), weir.PerSecond(4).WithBurst(40), 100, 100, 265},
		"a window of ours":             {weir.PerSecond(2).WithBurst(40), weir.PerMinute(600).By(weir.SlidingWindow), 8, 140, 265},
		// Our 22 units leave at once, and the upstream refuses one of them. The key's time
		// stands in the pause of 1 s, and 50 ms of slack. Then the window counts the units
		// for 1 s more. So 21 units are admitted and one is refused in 2.00 to 2.05 s: at
		// least 58 * 21 and at most 60 in two minutes. A few calls that are under way with
		// the first are refused too. After a cut up to 20 per second are admitted.
		"a window": {weir.PerSecond(20).By(weir.AlignedWindow), weir.PerSecond(22).By(weir.SlidingWindow), 8, 66, 1218},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 2, weirtest.ProviderConfig{Limits: []weir.Limit{c.upstream}}, c.ours)
				var wg sync.WaitGroup
				end := time.Now().Add(2 * time.Minute)
				for i := range c.callers {
					wg.Go(func() {
						for time.Now().Before(end) {
							getThings(t, f.members[i%2])
							time.Sleep(time.Millisecond)
						}
					})
				}
				wg.Wait()
				counts := f.provider.Counts()
				if n := counts.Refused(); n > c.most || counts.Admitted < c.least {
					t.Errorf("%d requests were refused, %d admitted; want at most %d and at least %d", n, counts.Admitted, c.most, c.least)
				}
			})
		})
	}
}

func getThings(t *testing.T, client *http.Client) {
	resp, err := client.Get("https://api.example.com/v1/things")
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
}

// TestRaisedLimitIsUsedAtOnce: an upstream raises a limit again. Calls that wait for
// slots far apart use the raised limit from the first response that tells it.
//
// The limits are GCRA. Under a sliding window of ours the fleet would be silent at the
// raise: the window counts its 100 units for 10 s of the key's own time, which runs at
// 100 ms in 525 ms or slower. These are at least 52.5 s, and no response comes before.
func TestRaisedLimitIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// No two responses come within a microsecond: a slot and a brake of one microsecond
		// have no order. The clock of a bubble stands still, unlike a real one.
		var n atomic.Int64
		latency := func(*http.Request) time.Duration {
			return time.Millisecond + time.Duration(n.Add(1)%1000)*3*time.Microsecond
		}
		full, low := weir.Per(100, 10*time.Second), weir.Per(20, 10*time.Second)
		f := newFleet(t, 2, weirtest.ProviderConfig{
			Limits: []weir.Limit{full}, Hook: dialects.Draft11, Latency: latency,
		}, full)
		go f.send(t, 50, 2*time.Minute)
		time.Sleep(15 * time.Second)
		if err := f.provider.SetLimits(low); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if err := f.provider.SetLimits(full); err != nil {
			t.Fatal(err)
		}
		before := f.provider.Counts()
		time.Sleep(30 * time.Second)
		after := f.provider.Counts()
		// The first response comes within a unit of the lower pace, 525 ms. 29 s at 10 per
		// second follow. At the lower pace only 57 calls would leave.
		if n := after.Admitted - before.Admitted; n < 290 || after.Refused() != before.Refused() {
			t.Errorf("%d admitted in 30 s at 100 in 10 s, %d refused; want at least 290 and none", n, after.Refused()-before.Refused())
		}
		time.Sleep(5 * time.Minute)
	})
}
