package weirtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func TestZeroConfigAdmitsEverything(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{})
	for range 1000 {
		if res, body := do(t, p.Transport(), request(t, "")); res.StatusCode != http.StatusOK || body != "ok\n" {
			t.Fatalf("%d %q, want 200 ok", res.StatusCode, body)
		}
	}
	if got := p.Counts(); got.Admitted != 1000 || got.Arrived() != 1000 || got.Refused() != 0 {
		t.Errorf("counts %+v", got)
	}
}

func TestKeysAreCountedApart(t *testing.T) {
	t.Parallel()
	limits := []weir.Limit{weir.PerHour(1)}
	apart := provider(t, weirtest.ProviderConfig{Limits: limits, Key: byKey})
	together := provider(t, weirtest.ProviderConfig{Limits: limits})
	for i, key := range []string{"a", "b", "a"} {
		if got := get(t, apart.Transport(), key).StatusCode; (got == http.StatusOK) != (i < 2) {
			t.Errorf("request %d of %s, apart: %d", i, key, got)
		}
		if got := get(t, together.Transport(), key).StatusCode; (got == http.StatusOK) != (i < 1) {
			t.Errorf("request %d of %s, together: %d", i, key, got)
		}
	}
	all := apart.Arrivals()
	if len(all.Of("a")) != 2 || len(all.Of("b").Admitted()) != 1 || len(all.Refused()) != 1 || all.Refused()[0].Refused != weirtest.ByLimit {
		t.Errorf("arrivals %+v", all)
	}
}

// One limit refuses: the other is not charged.
func TestLimitsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last weirtest.Answer
		p := provider(t, weirtest.ProviderConfig{
			Limits: []weir.Limit{weir.PerSecond(1).By(store.FixedWindow), weir.PerHour(3).By(store.SlidingWindow)},
			Hook:   func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a },
		})
		for range 5 {
			get(t, p.Transport(), "")
		}
		if last.Refused != weirtest.ByLimit || last.RetryAfter != time.Second || last.Limits[1].Remaining != 2 {
			t.Errorf("answer %+v, want retry after 1 s and 2 of the hour left", last)
		}
		for range 2 {
			time.Sleep(time.Second)
			get(t, p.Transport(), "")
		}
		get(t, p.Transport(), "")
		if want := time.Hour - 2*time.Second; last.RetryAfter != want {
			t.Errorf("retry after %v, want the longer of both, %v", last.RetryAfter, want)
		}
	})
}

func TestCostIsByLimit(t *testing.T) {
	t.Parallel()
	var last weirtest.Answer
	p := provider(t, weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(10).WithName("requests"), weir.PerHour(10).WithName("tokens")},
		Cost: func(r *http.Request, l weir.Limit) int64 {
			if l.Name == "requests" {
				return 1
			}
			text, _ := io.ReadAll(r.Body)
			n, _ := strconv.ParseInt(string(text), 10, 64)
			return n
		},
		KeepBodies: 10,
		Hook:       func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a },
		Handler:    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
	})
	for _, tc := range []struct {
		body     string
		status   int
		requests int64
		tokens   int64
	}{
		{"7", 200, 9, 3}, {"4", 429, 9, 3}, {"3", 200, 8, 0}, {"0", 200, 7, 0}, {"11", 429, 7, 0},
	} {
		req, err := http.NewRequest(http.MethodPost, "http://api.test", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		res, body := do(t, p.Transport(), req)
		if res.StatusCode != tc.status || last.Limits[0].Remaining != tc.requests || last.Limits[1].Remaining != tc.tokens {
			t.Errorf("cost %s: %d, %+v", tc.body, res.StatusCode, last.Limits)
		}
		if tc.status == http.StatusOK && body != tc.body {
			t.Errorf("the handler read %q, want %q", body, tc.body)
		}
	}
	if last.RetryAfter != store.Never {
		t.Errorf("retry after %v of a cost that never fits", last.RetryAfter)
	}
	req, err := http.NewRequest(http.MethodPost, "http://api.test", strings.NewReader("-1"))
	if err != nil {
		t.Fatal(err)
	}
	if res, body := do(t, p.Transport(), req); res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "cost of tokens is -1") {
		t.Errorf("a negative cost: %d %q", res.StatusCode, body)
	}
	if got := p.Counts().Arrived(); got != 5 {
		t.Errorf("%d requests were counted, want 5", got)
	}
}

func TestSetLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		was  weir.Limit
		is   weir.Limit
		// After 6 requests and 1 s; how many more are admitted now and after
		// the wait, and the wait that the first refusal gives.
		now  int
		wait time.Duration
		then int
	}{
		{"a fixed window lowered", weir.Per(10, 4*time.Second).By(store.FixedWindow), weir.Per(3, 4*time.Second).By(store.FixedWindow), 0, 3 * time.Second, 3},
		{"a fixed window raised", weir.Per(6, 4*time.Second).By(store.FixedWindow), weir.Per(8, 4*time.Second).By(store.FixedWindow), 2, 3 * time.Second, 8},
		{"a fixed window cut short", weir.Per(6, 4*time.Second).By(store.FixedWindow), weir.Per(6, 2*time.Second).By(store.FixedWindow), 0, time.Second, 6},
		{"an aligned window lowered", weir.Per(10, 4*time.Second).By(store.AlignedWindow), weir.Per(3, 4*time.Second).By(store.AlignedWindow), 0, 3 * time.Second, 3},
		{"an aligned window of another length", weir.Per(10, 4*time.Second).By(store.AlignedWindow), weir.Per(10, 3*time.Second).By(store.AlignedWindow), 4, 2 * time.Second, 10},
		{"a sliding window lowered", weir.Per(10, 4*time.Second).By(store.SlidingWindow), weir.Per(3, 4*time.Second).By(store.SlidingWindow), 0, 3 * time.Second, 3},
		{"a sliding window raised", weir.Per(6, 4*time.Second).By(store.SlidingWindow), weir.Per(9, 4*time.Second).By(store.SlidingWindow), 3, 3 * time.Second, 6},
		// 6 of 8 are missing, 2 are refilled at once: 4.
		{"a bucket lowered", weir.PerSecond(2).WithBurst(8), weir.PerSecond(1).WithBurst(5), 1, time.Second, 1},
		{"a bucket lowered below the used units", weir.PerSecond(1).WithBurst(8), weir.PerSecond(1).WithBurst(3), 0, time.Second, 1},
		{"a bucket raised", weir.PerSecond(1).WithBurst(6), weir.PerSecond(4).WithBurst(8), 3, time.Second / 4, 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var last weirtest.Answer
				p := provider(t, weirtest.ProviderConfig{Limits: []weir.Limit{tc.was}, Hook: func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a }})
				admitted := func() (n int) {
					for get(t, p.Transport(), ""); last.Refused == weirtest.NotRefused; get(t, p.Transport(), "") {
						n++
					}
					return n
				}
				for range 6 {
					get(t, p.Transport(), "")
				}
				time.Sleep(time.Second)
				if err := p.SetLimits(tc.is); err != nil {
					t.Fatal(err)
				}
				if got := admitted(); got != tc.now || last.RetryAfter != tc.wait {
					t.Fatalf("%d admitted, then retry after %v; want %d and %v", got, last.RetryAfter, tc.now, tc.wait)
				}
				if s := last.Limits[0]; s.Limit != tc.is || s.Remaining != 0 {
					t.Errorf("state %+v", s)
				}
				time.Sleep(last.RetryAfter)
				if got := admitted(); got != tc.then {
					t.Errorf("%d admitted after the wait, want %d", got, tc.then)
				}
			})
		})
	}
}

func TestRefuseOnCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last weirtest.Answer
		p := provider(t, weirtest.ProviderConfig{
			Limits: []weir.Limit{weir.PerHour(100)}, Status: http.StatusForbidden,
			Hook: func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a },
		})
		answers := func(want ...int) {
			t.Helper()
			for i, status := range want {
				if got := get(t, p.Transport(), ""); got.StatusCode != status {
					t.Errorf("answer %d: %d, want %d", i, got.StatusCode, status)
				}
			}
		}
		p.Refuse(2, 3*time.Second)
		answers(403)
		if last.Refused != weirtest.ByCommand || last.RetryAfter != 3*time.Second || last.Limits[0].Remaining != 100 {
			t.Errorf("answer %+v, want to come back after 3 s and nothing charged", last)
		}
		answers(403, 200, 200)
		p.Refuse(5, 0)
		answers(403)
		if last.RetryAfter != 0 {
			t.Errorf("retry after %v, want none", last.RetryAfter)
		}
		p.Refuse(0, 0)
		answers(200)
		p.Refuse(-1, -1)
		answers(200)

		p.RefuseFor(10 * time.Second)
		p.Refuse(1, time.Hour)
		time.Sleep(4 * time.Second)
		answers(403)
		if last.RetryAfter != 6*time.Second {
			t.Errorf("retry after %v, want the time left, 6 s", last.RetryAfter)
		}
		time.Sleep(6*time.Second - 1)
		answers(403)
		time.Sleep(time.Nanosecond)
		answers(403, 200) // the one of Refuse
		p.RefuseFor(time.Hour)
		answers(403)
		p.RefuseFor(0)
		answers(200)
		if got := p.Counts(); got.RefusedOnCommand != 7 || got.Refused() != 7 || got.Admitted != 6 {
			t.Errorf("counts %+v", got)
		}
	})
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			Limits: []weir.Limit{weir.PerHour(100)}, Key: byKey,
			MaxInFlight: 2, InFlightStatus: http.StatusServiceUnavailable,
			Latency: func(*http.Request) time.Duration { return time.Second },
			Hook:    dialects.XRateLimitDelta,
		})
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { get(t, p.Transport(), "a") })
		}
		all.Go(func() { get(t, p.Transport(), "b") })
		synctest.Wait()
		res := get(t, p.Transport(), "a")
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "" || res.Header.Get("X-RateLimit-Remaining") != "98" {
			t.Errorf("the third at once: %d, %v", res.StatusCode, res.Header)
		}
		if got := p.Counts(); got.InFlight != 3 || got.RefusedInFlight != 1 {
			t.Errorf("counts %+v, want 3 in flight and 1 refused", got)
		}
		all.Wait()
		if got := get(t, p.Transport(), "a").StatusCode; got != http.StatusOK {
			t.Errorf("after they ended: %d", got)
		}
		if got := p.Counts(); got.InFlight != 0 || got.MaxInFlight != 3 {
			t.Errorf("counts %+v, want none in flight and at most 3", got)
		}
	})
}

func TestInFlightEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			MaxInFlight: 1,
			Latency:     func(*http.Request) time.Duration { return time.Hour },
			Handler:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a broken handler") }),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := p.Transport().RoundTrip(request(t, "").WithContext(ctx)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v, want the deadline after 1 s", err, time.Since(start))
		}
		if _, err := p.Transport().RoundTrip(request(t, "")); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "a broken handler") {
			t.Errorf("error %v, want a cut connection", err)
		}
		if got := p.Counts(); got.InFlight != 0 || got.Admitted != 2 {
			t.Errorf("counts %+v, want none in flight", got)
		}
	})
}

// Travel comes before the request is counted, Latency after.
func TestTravelAndLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			Travel:  func(*http.Request) time.Duration { return 2 * time.Second },
			Latency: func(*http.Request) time.Duration { return 3 * time.Second },
		})
		start := time.Now()
		get(t, p.Transport(), "")
		if got := time.Since(start); got != 5*time.Second {
			t.Errorf("the response took %v, want 5 s", got)
		}
		if got := p.Arrivals()[0].At.Sub(start); got != 2*time.Second {
			t.Errorf("arrived after %v, want 2 s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Transport().RoundTrip(request(t, "").WithContext(ctx)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		if got := p.Counts().Arrived(); got != 1 {
			t.Errorf("%d arrived, want 1: the other never did", got)
		}
	})
}

// Hook sees every response and may replace the provider's own headers.
func TestHookSetsHeaders(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(1)},
		Hook: func(h http.Header, r *http.Request, a weirtest.Answer) {
			h.Set("X-Before", h.Get("Retry-After"))
			h.Set("Retry-After", r.Header.Get("X-Key")+a.Refused.String())
			h.Del("Date")
		},
	})
	for _, want := range [][2]string{{"", "k-admitted"}, {"3600", "k-limit"}} {
		h := get(t, p.Transport(), "k-").Header
		if h.Get("X-Before") != want[0] || h.Get("Retry-After") != want[1] || h.Get("Date") != "" {
			t.Errorf("headers %v, want Retry-After %q replaced by %q", h, want[0], want[1])
		}
	}
}

func TestBodiesAreKept(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(1)}, KeepBodies: 4,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
	})
	for _, tc := range []struct {
		body   string
		status int
	}{{"abcd", 200}, {"abcd", 429}, {"abcde", 413}, {"", 429}} {
		req, err := http.NewRequest(http.MethodPost, "http://api.test", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		res, echo := do(t, p.Transport(), req)
		if res.StatusCode != tc.status {
			t.Errorf("%q: %d, want %d", tc.body, res.StatusCode, tc.status)
		}
		if res.StatusCode == http.StatusOK && echo != tc.body {
			t.Errorf("the handler read %q, want %q", echo, tc.body)
		}
	}
	var bodies []string
	for _, a := range p.Arrivals() {
		bodies = append(bodies, string(a.Body))
	}
	if want := []string{"abcd", "abcd", ""}; !slices.Equal(bodies, want) {
		t.Errorf("bodies %q, want %q", bodies, want)
	}
}

// In a run of any length, a provider keeps MaxArrivals arrivals, and only the keys
// that its limits need.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			Limits:      []weir.Limit{weir.PerSecond(10), weir.PerSecond(5).By(store.SlidingWindow), weir.Per(7, time.Second).By(store.FixedWindow), weir.Per(6, time.Second).By(store.AlignedWindow)},
			Key:         byKey,
			MaxArrivals: 100,
		})
		const n = 1_050
		largest := 0
		for i := range n {
			get(t, p.Transport(), strconv.Itoa(i))
			time.Sleep(100 * time.Millisecond)
			largest = max(largest, p.Counts().Keys)
		}
		if largest > 200 {
			t.Errorf("%d keys were kept at once, with about 20 in use", largest)
		}
		all, counts := p.Arrivals(), p.Counts()
		if len(all) != 100 || counts.Forgotten != n-100 || counts.Arrived() != n {
			t.Fatalf("%d arrivals are kept, counts %+v", len(all), counts)
		}
		for i, a := range all {
			if want := strconv.Itoa(n - 100 + i); a.Key != want {
				t.Fatalf("arrival %d is %s, want %s", i, a.Key, want)
			}
		}
	})
}

// A key in use is not forgotten when others come.
func TestKeysInUseAreKept(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{Limits: []weir.Limit{weir.PerHour(1)}, Key: byKey})
	for i := range 1000 {
		get(t, p.Transport(), strconv.Itoa(i))
	}
	for i := range 1000 {
		if got := get(t, p.Transport(), strconv.Itoa(i)).StatusCode; got != http.StatusTooManyRequests {
			t.Fatalf("key %d got a fresh limit", i)
		}
	}
}

// A key with requests being served is not forgotten, even with unused limits.
func TestKeysInFlightAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			Key: byKey, MaxInFlight: 1,
			Latency: func(*http.Request) time.Duration { return time.Second },
		})
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() { get(t, p.Transport(), strconv.Itoa(i)) })
		}
		synctest.Wait()
		for i := range 300 {
			if got := get(t, p.Transport(), strconv.Itoa(i)).StatusCode; got != http.StatusTooManyRequests {
				t.Errorf("key %d: %d, want 429 while one is being served", i, got)
			}
		}
		all.Wait()
	})
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{
		Limits:      []weir.Limit{weir.PerHour(50).By(store.SlidingWindow), weir.PerHour(60).WithName("bucket")},
		Key:         byKey,
		MaxInFlight: 100,
		Hook:        dialects.Draft11,
		KeepBodies:  10,
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 100 {
				get(t, p.Transport(), strconv.Itoa(i%4))
				if i%10 == 0 {
					p.Counts()
					p.MaxIn(time.Second)
					_ = p.SetLimits(p.Limits()...)
					p.RefuseFor(0)
				}
			}
		})
	}
	all.Wait()
	if got := p.Counts(); got.Admitted != 4*50 || got.RefusedByLimit != 800-4*50 || got.InFlight != 0 || got.OpenBodies != 0 {
		t.Errorf("counts %+v, want 200 admitted", got)
	}
}
