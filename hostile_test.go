package weir_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// TestHostileResponses: whatever an upstream says, its response comes at once and whole,
// costs a few calls of the store and a few events, and pauses the key for MaxPause at most.
func TestHostileResponses(t *testing.T) {
	t.Parallel()
	const maxPause, text = 10 * time.Minute, `{"error":{"message":"try again in 499999999 days"},"retry_after":1e400}`
	repeat := func(n int, item func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(item(i))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		stalls bool
		pause  time.Duration // -1: any up to maxPause
	}{
		"many budgets of one name": {status: 200, header: http.Header{"Ratelimit": {repeat(200, func(i int) string { return fmt.Sprintf(`"api";r=0;t=%d, `, 500-i) }) + `"api";r=0;t=1`}}, pause: 500 * time.Second},
		"many budgets of many names": {status: 429, pause: -1, header: func() http.Header {
			h := http.Header{}
			for i := range 10_000 {
				h[fmt.Sprintf("X-Ratelimit-Remaining-%d", i)], h[fmt.Sprintf("X-Ratelimit-Reset-%d", i)] = []string{"0"}, []string{"9999999"}
			}
			return h
		}()},
		"a hundred thousand items": {status: 429, header: http.Header{"Ratelimit": {strings.Repeat(`"api";r=0;t=60, `, 100_000)}}},
		"a line of a megabyte":     {status: 429, header: http.Header{"Retry-After": {strings.Repeat("9", 1<<20)}}},
		"the year 9999":            {status: 429, header: headers("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), pause: maxPause},
		"a negative time":          {status: 429, header: headers("Retry-After", "-1")},
		"a time that overflows":    {status: 429, header: headers("Retry-After", "99999999999999999999999"), pause: maxPause},
		"numbers that overflow": {status: 200, pause: -1, header: headers("X-RateLimit-Limit", "9223372036854775807",
			"X-RateLimit-Remaining", "9223372036854775807", "X-RateLimit-Reset", "9223372036854775807", "X-RateLimit-Used", "18446744073709551616")},
		"units without end, and none left": {status: 200, pause: -1, header: headers("RateLimit-Policy", `"api";q=999999999999999;w=999999999999999`, "RateLimit", `"api";r=0;t=999999999999999`)},
		"a body that stalls":               {status: 429, header: headers("Content-Type", "application/json"), body: text, stalls: true, pause: -1},
		"a body of absurd times":           {status: 429, header: headers("Content-Type", "application/json"), body: text, pause: maxPause},
		"a deep body":                      {status: 429, header: headers(), body: strings.Repeat(`{"a":[`, 100_000)},
		"half a letter":                    {status: 429, header: headers(), body: "{\"message\":\"retry in 5s\xe2\x82"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var brakes, events atomic.Int64
				s := &after{Store: localStore(t), first: func(context.Context) error { brakes.Add(1); return nil }}
				l := onLocal(t, weir.Config{Store: s, Limits: buckets(weir.Per(100, time.Minute)), MaxPause: maxPause, Hook: func(_ context.Context, e weir.Event) {
					if events.Add(1); e.Kind == weir.EventPaused && e.Pause > maxPause {
						t.Errorf("a pause of %v", e.Pause)
					}
				}})
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					body := io.Reader(strings.NewReader(c.body))
					if c.stalls {
						body = io.MultiReader(body, slowly(time.Minute))
					}
					return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(body), Request: r}, nil
				})
				tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) { cfg.Upstream = &upstream.Reader{Bodies: true} })
				start := time.Now()
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if took := time.Since(start); err != nil || took > 40*ms {
					t.Fatalf("%v after %v", err, took)
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if string(got) != c.body || err != nil {
					t.Errorf("the body is %.50q, %v", got, err)
				}
				start = time.Now()
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				waited := time.Since(start)
				if c.stalls {
					waited += time.Minute
				}
				if c.pause >= 0 && (waited < c.pause-time.Second || waited > c.pause+time.Second) || waited > maxPause+time.Minute {
					t.Errorf("the next call waited for %v, want %v", waited, c.pause)
				}
				if b, e := brakes.Load(), events.Load(); b > 2 || e > 50 {
					t.Errorf("%d brakes, %d events", b, e)
				}
				time.Sleep(time.Hour)
				if waiting, held := l.Stats(); waiting+held != 0 || tr.UnderWay() != 0 || l.Laters() != 0 {
					t.Errorf("%d wait, %d leases, %d under way and %d calls are left", waiting, held, tr.UnderWay(), l.Laters())
				}
			})
		})
	}
}

// slowly is a reader that ends after a time.
type slowly time.Duration

func (s slowly) Read([]byte) (int, error) {
	time.Sleep(time.Duration(s))
	return 0, io.EOF
}

// TestBudgetsPauseOnce: of several budgets of one limit with nothing left, the longest
// reset pauses the key, in one call of the store.
func TestBudgetsPauseOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &countedBrakes{after: after{Store: localStore(t), first: func(context.Context) error { return nil }}}
		l := onLocal(t, weir.Config{Store: s, Limits: buckets(weir.Per(100, time.Minute))})
		tr := overLimiter(t, l, answer("", http.Header{"Ratelimit": {`"api";r=0;t=20, "api";r=0;t=50, "api";r=0;t=30`}}), nil)
		resp, err := tr.RoundTrip(getRequest(t, t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		synctest.Wait()
		if n, longest := s.n.Load(), time.Duration(s.longest.Load()); n != 1 || longest != 50*time.Second {
			t.Errorf("%d brakes, the longest pause is %v", n, longest)
		}
	})
}

// countedBrakes counts brakes.
type countedBrakes struct {
	after
	n, longest atomic.Int64
}

func (s *countedBrakes) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	s.n.Add(1)
	s.longest.Store(max(s.longest.Load(), int64(b.Pause)))
	return s.after.Brake(ctx, charges, b)
}

// TestForgedResponses: an upstream in wrong hands answers at random, for hours. No request waits
// for longer than MaxPause and the limit's own distance.
func TestForgedResponses(t *testing.T) {
	t.Parallel()
	const maxPause = time.Minute
	names := []string{
		"Retry-After", "Retry-After-Ms", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-RateLimit-Limit",
		"X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used", "X-RateLimit-Limit-Minute", "X-RateLimit-Remaining-Minute", "Date", "Age",
		"X-RateLimit-Reset-After", "RateLimit-Reason", "X-RateLimit-Resource",
	}
	values := []string{
		"0", "1", "2", "9", "10", "100", "60", "3600", "1e309", "NaN", "-1", "0.5", "99999999999999999999", "946684860", "253402300799", "946684860000",
		`"a";r=0;t=9`, `"a";r=1;t=999999999`, `"a";r=9;t=1`, `"a";q=1;w=999999999`, `"a";q=100;w=60`, `"a";q=2;w=60, "b";q=9;w=1`, "limit=1, remaining=1, reset=99999",
		"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 2001 00:00:00 GMT", "Sat, 01 Jan 2000 00:01:00 GMT", "jira-quota-global-based", "search", "ü\xff",
	}
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			limits := [][]weir.Limit{
				{weir.PerSecond(10)}, {weir.Per(100, time.Minute).By(weir.SlidingWindow)}, {weir.Outbound(2, time.Second), weir.Outbound(60, time.Minute)}, {weir.PerHour(3600).WithBurst(5)},
				{weir.PerMinute(60).By(weir.FixedWindow)}, {weir.PerMinute(60).By(weir.SlidingCounter)},
			}[rng.IntN(6)]
			var last time.Time
			unit := time.Duration(0)
			for _, l := range limits {
				if unit = max(unit, l.Period/time.Duration(l.Rate)); l.Algorithm != weir.GCRA {
					unit = max(unit, 2*l.Period)
				}
			}
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				if waited := time.Since(last); !last.IsZero() && waited > maxPause+unit+time.Second {
					t.Errorf("seed %d: a request waited for %v", seed, waited)
				}
				last = time.Now()
				h := http.Header{}
				for range rng.IntN(6) {
					h.Add(names[rng.IntN(len(names))], values[rng.IntN(len(values))])
				}
				status := []int{200, 200, 200, 429, 503, 403, 301, 202}[rng.IntN(8)]
				return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
			})
			tr := overLimiter(t, onLocal(t, weir.Config{Limits: buckets(limits...), MaxPause: maxPause}), base, nil)
			for range 200 {
				resp, err := tr.RoundTrip(getRequest(t, t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
