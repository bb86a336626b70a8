package weir_test

import (
	"context"
	"fmt"
	"io"
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
