package dialects_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// Each dialect is tested 1.25 s after the first request, with 3 of 4 units used and
// with a refusal. The clock of a bubble starts at 2000-01-01T00:00:00Z, 946684800.
func TestDialects(t *testing.T) {
	t.Parallel()
	fixed := []weir.Limit{weir.Per(4, 10*time.Second).By(store.FixedWindow)}
	two := []weir.Limit{
		weir.PerMinute(100).WithName("requests").By(store.FixedWindow),
		weir.PerMinute(4).WithName(`a "b\`).By(store.FixedWindow),
	}
	bucket := []weir.Limit{weir.PerSecond(2).WithBurst(4)}
	cases := []struct {
		name    string
		dialect dialects.Dialect
		limits  []weir.Limit
		left    map[string]string // 1 remaining
		refused map[string]string // none remaining
	}{
		{"none", nil, fixed, map[string]string{}, map[string]string{"Retry-After": "9"}},
		{
			"draft 11", dialects.Draft11, fixed,
			map[string]string{"Ratelimit-Policy": `"4-in-10s";q=4;w=10`, "Ratelimit": `"4-in-10s";r=1;t=9`},
			map[string]string{"Ratelimit-Policy": `"4-in-10s";q=4;w=10`, "Ratelimit": `"4-in-10s";r=0;t=9`, "Retry-After": "9"},
		},
		{
			"draft 11 of two limits and an odd name", dialects.Draft11, two,
			map[string]string{"Ratelimit-Policy": `"requests";q=100;w=60, "a \"b\\";q=4;w=60`, "Ratelimit": `"requests";r=97;t=59, "a \"b\\";r=1;t=59`},
			map[string]string{"Ratelimit-Policy": `"requests";q=100;w=60, "a \"b\\";q=4;w=60`, "Ratelimit": `"requests";r=96;t=59, "a \"b\\";r=0;t=59`, "Retry-After": "59"},
		},
		{
			"draft 11 of a bucket: the burst, and how long it takes to fill", dialects.Draft11, bucket,
			map[string]string{"Ratelimit-Policy": `"2-in-1s";q=4;w=2`, "Ratelimit": `"2-in-1s";r=3;t=1`},
			map[string]string{"Ratelimit-Policy": `"2-in-1s";q=4;w=2`, "Ratelimit": `"2-in-1s";r=0;t=2`, "Retry-After": "1"},
		},
		{
			"draft 11 of more than an Integer holds", dialects.Draft11, []weir.Limit{weir.PerSecond(store.MaxUnits).WithName("n")},
			map[string]string{"Ratelimit-Policy": `"n";q=999999999999999;w=1`, "Ratelimit": `"n";r=999999999999999;t=1`}, nil,
		},
		{
			"draft 07", dialects.Draft07, fixed,
			map[string]string{"Ratelimit-Policy": "4;w=10", "Ratelimit": "limit=4, remaining=1, reset=9"},
			map[string]string{"Ratelimit-Policy": "4;w=10", "Ratelimit": "limit=4, remaining=0, reset=9", "Retry-After": "9"},
		},
		{
			"draft 06 of two limits", dialects.Draft06, two,
			map[string]string{"Ratelimit-Policy": "100;w=60, 4;w=60", "Ratelimit-Limit": "4", "Ratelimit-Remaining": "1", "Ratelimit-Reset": "59"},
			map[string]string{"Ratelimit-Policy": "100;w=60, 4;w=60", "Ratelimit-Limit": "4", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "59", "Retry-After": "59"},
		},
		{
			"X-RateLimit with an epoch", dialects.XRateLimitEpoch, fixed,
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "946684810"},
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "946684810", "Retry-After": "9"},
		},
		{
			"X-RateLimit with an epoch of a bucket, rounded up", dialects.XRateLimitEpoch, bucket,
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "3", "X-Ratelimit-Reset": "946684802"},
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "946684804", "Retry-After": "1"},
		},
		{
			"X-RateLimit with a delta", dialects.XRateLimitDelta, fixed,
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "9"},
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "9", "Retry-After": "9"},
		},
		{
			"GitHub", dialects.GitHub, fixed,
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Used": "3", "X-Ratelimit-Reset": "946684810", "X-Ratelimit-Resource": "4-in-10s"},
			map[string]string{"X-Ratelimit-Limit": "4", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Used": "4", "X-Ratelimit-Reset": "946684810", "X-Ratelimit-Resource": "4-in-10s", "Retry-After": "9"},
		},
		{
			"OpenAI, with a name that no header can have", dialects.OpenAI, two,
			map[string]string{"X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Remaining-Requests": "97", "X-Ratelimit-Reset-Requests": "58.75s"},
			map[string]string{"X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Remaining-Requests": "96", "X-Ratelimit-Reset-Requests": "58.75s", "Retry-After": "59"},
		},
		{
			"OpenAI, two limits without names, the second of an odd period", dialects.OpenAI,
			[]weir.Limit{weir.PerSecond(100), weir.Per(4, 6*time.Minute+1001*time.Microsecond).By(store.FixedWindow)},
			map[string]string{
				"X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Remaining-Requests": "99", "X-Ratelimit-Reset-Requests": "10ms",
				"X-Ratelimit-Limit-Tokens": "4", "X-Ratelimit-Remaining-Tokens": "1", "X-Ratelimit-Reset-Tokens": "5m58.752s",
			},
			map[string]string{
				"X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Remaining-Requests": "98", "X-Ratelimit-Reset-Requests": "20ms",
				"X-Ratelimit-Limit-Tokens": "4", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "5m58.752s", "Retry-After": "359",
			},
		},
		{
			"Shopify", dialects.Shopify, fixed,
			map[string]string{"X-Shopify-Shop-Api-Call-Limit": "3/4"},
			map[string]string{"X-Shopify-Shop-Api-Call-Limit": "4/4", "Retry-After": "9"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := provider(t, tc.dialect, tc.limits)
				get(t, p)
				get(t, p)
				time.Sleep(1250 * time.Millisecond)
				res := get(t, p)
				if got := rateHeaders(res.Header); !maps.Equal(got, tc.left) {
					t.Errorf("with something left it says\n%v, want\n%v", got, tc.left)
				}
				if got := res.Header.Get("Date"); got != "Sat, 01 Jan 2000 00:00:01 GMT" {
					t.Errorf("Date %q is not the provider's", got)
				}
				for i := 0; tc.refused != nil && res.StatusCode == http.StatusOK && i < 9; i++ {
					res = get(t, p)
				}
				if got := rateHeaders(res.Header); tc.refused != nil && !maps.Equal(got, tc.refused) {
					t.Errorf("refusing it says\n%v, want\n%v", got, tc.refused)
				}
			})
		})
	}
}

func TestDialectsWithoutLimits(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "draft 07": dialects.Draft07, "draft 06": dialects.Draft06,
		"epoch": dialects.XRateLimitEpoch, "delta": dialects.XRateLimitDelta,
		"GitHub": dialects.GitHub, "OpenAI": dialects.OpenAI, "Shopify": dialects.Shopify,
	} {
		h := make(http.Header)
		if d(h, nil, weirtest.Answer{Now: time.Now()}); len(h) != 0 {
			t.Errorf("%s: %v, want nothing", name, h)
		}
	}
}

func TestLies(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		dialect    dialects.Dialect
		retryAfter string
		reset      string
	}{
		{"far future", dialects.LieFarFuture, "Fri, 31 Dec 9999 23:59:59 GMT", "253402300799"},
		{"negative", dialects.LieNegative, "-1", "-1"},
		{"overflow", dialects.LieOverflow, strings.Repeat("9", 40), strings.Repeat("9", 40) + ".5e999"},
		{"rubbish", dialects.LieRubbish, `soon, "a" ;r=1,`, "2022-13-45T99:99Z"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := weirtest.NewServer(weirtest.ProviderConfig{Limits: []weir.Limit{weir.PerHour(1)}, Hook: tc.dialect})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			// Through a socket: the lies must be headers that can be sent.
			for i, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
				res, err := s.Client().Get(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				want := ""
				if status != http.StatusOK {
					want = tc.retryAfter
				}
				h := res.Header
				if res.StatusCode != status || h.Get("Retry-After") != want || h.Get("X-RateLimit-Reset") != tc.reset {
					t.Errorf("answer %d: %d, %v", i, res.StatusCode, rateHeaders(h))
				}
				for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Reset", "X-RateLimit-Remaining", "X-RateLimit-Reset-Requests", "X-Shopify-Shop-Api-Call-Limit"} {
					if h.Get(name) == "" {
						t.Errorf("answer %d has no lie in %s", i, name)
					}
				}
			}
		})
	}
}
