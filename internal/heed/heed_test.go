package heed_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const maxPause = 15 * time.Minute

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// on returns a booking under limits, with all units left but one.
func on(limits ...store.Limit) heed.Booking {
	b := heed.Booking{Level: &heed.Level{Limits: limits, MaxPause: maxPause}, At: 7}
	b.Remaining = limits[0].Max() - 1
	return b
}

// gapped returns a booking under an earlier brake with a gap.
func gapped(b heed.Booking, gap time.Duration) heed.Booking {
	b.Gap = gap
	return b
}

// left returns a booking with so many units left of each limit. The first is the tightest.
func left(b heed.Booking, units ...int64) heed.Booking {
	b.Remaining = units[0]
	for _, n := range units {
		b.Charges = append(b.Charges, store.ChargeState{Remaining: n})
	}
	return b
}

func counting(u heed.Unit, b heed.Booking) heed.Booking {
	b.Level.Unit = u
	return b
}

func headers(lines ...string) http.Header {
	h := http.Header{"Date": {now.Format(http.TimeFormat)}}
	for i := 0; i < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

// TestWhatRealAPIsSay checks the brake for responses of real APIs.
func TestWhatRealAPIsSay(t *testing.T) {
	t.Parallel()
	perMinute := func(n int64) store.Limit { return store.Per(n, time.Minute) }
	perHour := func(n int64) store.Limit { return store.Per(n, time.Hour) }
	perSecond := func(n int64) store.Limit { return store.Per(n, time.Second) }
	spaced := func(gap time.Duration) time.Duration { return gap + gap/20 + time.Microsecond }
	const slack = 50 * time.Millisecond
	for name, c := range map[string]struct {
		status   int
		said     http.Header
		bookings []heed.Booking
		reads    heed.Unit // of all levels
		underWay int64
		again    bool
		want     store.Brake
		target   int
		doubtful bool
	}{
		"Slack: refused for 30 s": {
			status: 429, said: headers("Retry-After", "30"), bookings: []heed.Booking{on(perMinute(50))},
			want: store.Brake{Pause: 30 * time.Second, Slack: slack},
		},
		"Slack: refused again after the pause": {
			status: 429, said: headers("Retry-After", "30"), bookings: []heed.Booking{on(perMinute(50))}, again: true,
			want: store.Brake{Pause: 30 * time.Second, Slack: slack, Cut: store.Cut{Unit: 1200 * time.Millisecond, Since: 7, Recovery: 2 * time.Minute}},
		},
		"a lower limit ends soon, and a limit of ours might be a part of it: the earlier gap stays": {
			status: 200, said: headers("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "12"),
			bookings: []heed.Booking{gapped(on(perMinute(100), store.Per(20, 10*time.Second)), spaced(time.Second))},
		},
		"Stripe: refused without a time": {
			status: 429, said: headers("Stripe-Rate-Limited-Reason", "global-rate"), bookings: []heed.Booking{on(perSecond(100))},
			want: store.Brake{Cut: store.Cut{Unit: 10 * time.Millisecond, Since: 7, Recovery: 30 * time.Second}},
		},
		"Stripe: the fastest of several limits is cut": {
			status: 429, said: headers(), bookings: []heed.Booking{on(perSecond(10), store.Per(10_000, 24*time.Hour))},
			want: store.Brake{Cut: store.Cut{Unit: 100 * time.Millisecond, Since: 7, Recovery: 30 * time.Second}},
		},
		"Binance: banned by 418": {
			status: 418, said: headers("Retry-After", "120"), bookings: []heed.Booking{on(perMinute(1200))},
			want: store.Brake{Pause: 2 * time.Minute, Slack: slack},
		},
		"a 503 without a word is no refusal": {status: 503, said: headers(), bookings: []heed.Booking{on(perMinute(60))}},
		"GitHub: agrees": {
			status: 200, said: headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4990", "X-RateLimit-Used", "10", "X-RateLimit-Reset", "1777640160", "X-RateLimit-Resource", "core"),
			bookings: []heed.Booking{on(perHour(5000))},
		},
		"GitHub: agrees, and an earlier gap ends": {
			status: 200, said: headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4990", "X-RateLimit-Reset", "1777640160"),
			bookings: []heed.Booking{gapped(on(perHour(5000)), time.Second)},
			want:     store.Brake{Tell: true},
		},
		"a lower limit of half our window: the units left last until the reset": {
			status: 200, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "20", "X-RateLimit-Reset", "22"), bookings: []heed.Booking{on(perMinute(120))},
			want: store.Brake{Tell: true, Gap: 1100 * time.Millisecond, GapFor: 22 * time.Second},
		},
		"GitHub: others have used most of it": {
			status: 200, said: headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "100", "X-RateLimit-Reset", "1777637000"),
			bookings: []heed.Booking{on(perHour(5000))}, doubtful: true,
			want: store.Brake{Tell: true, Gap: 2 * time.Second, GapFor: 200 * time.Second},
		},
		"others have used up the hour, and of ours a second is tighter": {
			status: 200, said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "600"),
			bookings: []heed.Booking{left(on(perSecond(10).By(store.SlidingWindow), perHour(1000).By(store.SlidingWindow)), 1, 990)}, doubtful: true,
			want: store.Brake{Pause: 10 * time.Minute, Slack: slack},
		},
		"others have used most of the hour, and of ours a second is tighter": {
			status: 200, said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "100", "X-RateLimit-Reset", "600"),
			bookings: []heed.Booking{left(on(perSecond(10), perHour(1000).By(store.SlidingWindow)), 1, 990)}, doubtful: true,
			want: store.Brake{Tell: true, Gap: 6 * time.Second, GapFor: 10 * time.Minute},
		},
		"the hour is used up, and ours knows": {
			status: 200, said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "600"),
			bookings: []heed.Booking{left(on(perSecond(10).By(store.SlidingWindow), perHour(1000).By(store.SlidingWindow)), 0, 4)},
		},
		"others have used up the hour while ours is slow": {
			status: 200, said: headers("X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "600"),
			bookings: []heed.Booking{gapped(left(on(perHour(1000).By(store.SlidingWindow)), 0), 6*time.Second)},
			want:     store.Brake{Pause: 10 * time.Minute, Slack: slack, Tell: true},
		},
		"GitHub: as many are under way": {
			status: 200, said: headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "100", "X-RateLimit-Reset", "1777637000"),
			bookings: []heed.Booking{on(perHour(5000))}, underWay: 4899,
		},
		"GitHub: search has a window of its own": {
			status: 200, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "1777636829", "X-RateLimit-Resource", "search"),
			bookings: []heed.Booking{on(perHour(5000))},
		},
		"GitHub: search says nothing of an earlier gap of core": {
			status: 200, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "15", "X-RateLimit-Reset", "1777636829", "X-RateLimit-Resource", "search"),
			bookings: []heed.Booking{gapped(on(perHour(5000)), time.Second)},
		},
		"GitHub: nothing left pauses before the refusal": {
			status: 200, said: headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777636860"),
			bookings: []heed.Booking{on(perHour(5000))}, doubtful: true,
			want: store.Brake{Pause: time.Minute, Slack: slack},
		},
		"X: nothing left of a sliding window of ours": {
			status: 200, said: headers("x-rate-limit-limit", "900", "x-rate-limit-remaining", "0", "x-rate-limit-reset", "1777636860"),
			bookings: []heed.Booking{{Level: &heed.Level{Limits: []store.Limit{store.Per(900, 15*time.Minute).By(store.SlidingWindow)}, MaxPause: maxPause}, Remaining: 3}},
		},
		"Okta: a lower limit than ours": {
			status: 200, said: headers("X-Rate-Limit-Limit", "600", "X-Rate-Limit-Remaining", "599", "X-Rate-Limit-Reset", "1777636860"),
			bookings: []heed.Booking{on(perMinute(1200))},
			want:     store.Brake{Tell: true, Gap: spaced(100 * time.Millisecond), GapFor: maxPause},
		},
		"Okta: a lower limit that is not new": {
			status: 200, said: headers("X-Rate-Limit-Limit", "600", "X-Rate-Limit-Remaining", "599", "X-Rate-Limit-Reset", "1777636860"),
			bookings: []heed.Booking{gapped(on(perMinute(1200)), spaced(100*time.Millisecond))},
		},
		"Cloudflare, draft 11: a lower limit in a named window": {
			status: 200, said: headers("RateLimit-Policy", `"default";q=60;w=60`, "RateLimit", `"default";r=55;t=50`),
			bookings: []heed.Booking{on(perMinute(600))},
			want:     store.Brake{Tell: true, Gap: spaced(time.Second), GapFor: maxPause},
		},
		"our bucket fills in 1.1 s, which is rounded up": {
			status: 200, said: headers("RateLimit-Policy", `"b";q=11;w=2`, "RateLimit", `"b";r=10;t=1`),
			bookings: []heed.Booking{on(perSecond(10).WithBurst(11))},
		},
		"our window of 1.5 s, rounded up": {
			status: 200, said: headers("RateLimit-Policy", "20;w=2", "RateLimit-Limit", "20", "RateLimit-Remaining", "19", "RateLimit-Reset", "2"),
			bookings: []heed.Booking{on(store.Per(20, 1500*time.Millisecond).By(store.FixedWindow))},
		},
		"a window that is a second longer than ours": {
			status: 200, said: headers("RateLimit-Policy", `"b";q=10;w=2`, "RateLimit", `"b";r=9;t=1`),
			bookings: []heed.Booking{on(perSecond(10))},
			want:     store.Brake{Tell: true, Gap: spaced(200 * time.Millisecond), GapFor: maxPause},
		},
		"a lower limit whose reset is rounded up to far beyond our window": {
			status: 200, said: headers("X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "4", "X-RateLimit-Reset", "1"),
			bookings: []heed.Booking{on(store.Per(10, 100*time.Millisecond))},
			want:     store.Brake{Tell: true, Gap: 25 * time.Millisecond, GapFor: maxPause},
		},
		"our bucket of a day, smaller than its rate, beside a limit per second": {
			status: 200, said: headers("RateLimit-Policy", `"d";q=2000;w=8640`, "RateLimit", `"d";r=1500;t=2160`),
			bookings: []heed.Booking{on(perSecond(10), store.Per(20_000, 24*time.Hour).WithBurst(2000))},
		},
		"our bucket of a day, of as many units as a limit per second": {
			status: 200, said: headers("RateLimit-Policy", `"d";q=10;w=864`, "RateLimit", `"d";r=5;t=432`),
			bookings: []heed.Booking{on(perSecond(10), store.Per(1000, 24*time.Hour).WithBurst(10))},
		},
		"tollbooth: our rate, by the second": {
			status: 200, said: headers("RateLimit-Limit", "5", "RateLimit-Remaining", "3", "RateLimit-Reset", "1"),
			bookings: []heed.Booking{on(store.Per(20, 4*time.Second))},
			want:     store.Brake{Tell: true, Gap: time.Second / 3, GapFor: time.Second},
		},
		"Shopify: a bucket larger than ours": {
			status: 200, said: headers("X-Shopify-Shop-Api-Call-Limit", "32/40"), bookings: []heed.Booking{on(perSecond(2).WithBurst(38))}, doubtful: true,
		},
		"HubSpot: a day, half used": {
			status: 200, said: headers("X-HubSpot-RateLimit-Daily", "500000", "X-HubSpot-RateLimit-Daily-Remaining", "250000",
				"X-HubSpot-RateLimit-Interval-Milliseconds", "10000", "X-HubSpot-RateLimit-Max", "190", "X-HubSpot-RateLimit-Remaining", "180"),
			bookings: []heed.Booking{on(store.Per(190, 10*time.Second))},
		},
		"Amazon SP-API: a rate alone": {
			status: 200, said: headers("x-amzn-RateLimit-Limit", "10.0"), bookings: []heed.Booking{on(perMinute(600))},
		},
		"Anthropic: requests are few, tokens are counted": {
			status: 200, reads: heed.Costs, said: headers("anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "1", "anthropic-ratelimit-requests-reset", "2026-05-01T12:00:55Z",
				"anthropic-ratelimit-tokens-limit", "30000", "anthropic-ratelimit-tokens-remaining", "29500", "anthropic-ratelimit-tokens-reset", "2026-05-01T12:00:01Z"),
			bookings: []heed.Booking{on(perMinute(30_000))},
		},
		"OpenAI: tokens are lower, beside requests": {
			status: 200, said: headers("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
				"x-ratelimit-limit-tokens", "60000", "x-ratelimit-remaining-tokens", "50000", "x-ratelimit-reset-tokens", "55s"),
			bookings: []heed.Booking{counting(heed.Costs, on(perMinute(500_000))), counting(heed.Requests, on(perMinute(5000)))},
			want:     store.Brake{Tell: true, Gap: max(spaced(time.Millisecond), 55*time.Second/50_000), GapFor: maxPause},
		},
		"few tokens are left of a lower limit: their gap ends with the window": {
			status: 200, said: headers("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
				"x-ratelimit-limit-tokens", "60000", "x-ratelimit-remaining-tokens", "11", "x-ratelimit-reset-tokens", "55s"),
			bookings: []heed.Booking{counting(heed.Costs, on(perMinute(500_000))), counting(heed.Requests, on(perMinute(5000)))},
			want:     store.Brake{Tell: true, Gap: 5 * time.Second, GapFor: 55 * time.Second},
		},
		"OpenAI: requests are lower, beside tokens": {
			status: 200, said: headers("x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "1s",
				"x-ratelimit-limit-tokens", "500000", "x-ratelimit-remaining-tokens", "499000", "x-ratelimit-reset-tokens", "100ms"),
			bookings: []heed.Booking{counting(heed.Costs, on(perMinute(500_000))), counting(heed.Requests, on(store.Per(600, time.Minute)))},
			want:     store.Brake{}, target: 1,
		},
		"a success is about the level that it names": {
			status: 200, said: headers("RateLimit-Policy", `"host";q=1000;w=60`, "RateLimit", `"host";r=0;t=50`),
			bookings: []heed.Booking{on(perMinute(100)), on(perMinute(1000))}, target: 1, doubtful: true,
			want: store.Brake{Pause: 50 * time.Second, Slack: slack},
		},
		"a refusal is about the level whose limit it names as used up": {
			status: 429, said: headers("RateLimit-Policy", `"host";q=1000;w=60`, "RateLimit", `"host";r=0;t=50`),
			bookings: []heed.Booking{on(perMinute(100)), on(perMinute(1000))}, target: 1,
			want: store.Brake{Pause: 50 * time.Second, Slack: slack},
		},
		"a refusal with units left of the wide level is about the narrowest": {
			status: 429, said: headers("RateLimit-Policy", `"host";q=1000;w=60`, "RateLimit", `"host";r=700;t=50`, "Retry-After", "9"),
			bookings: []heed.Booking{on(perMinute(100)), on(perMinute(1000))},
			want:     store.Brake{Pause: 9 * time.Second, Slack: slack},
		},
		"a refusal that names no limit of ours is about the narrowest level": {
			status: 429, said: headers("RateLimit-Policy", `"ip";q=7;w=60`, "RateLimit", `"ip";r=0;t=50`),
			bookings: []heed.Booking{on(perMinute(100)), on(perMinute(1000))},
			want:     store.Brake{Pause: 50 * time.Second, Slack: slack, Tell: true, Gap: spaced(60 * time.Second / 7), GapFor: maxPause},
		},
		"a refusal without a limit is about the narrowest level": {
			status: 429, said: headers("Retry-After", "9"), bookings: []heed.Booking{on(perMinute(100)), on(perMinute(1000))},
			want: store.Brake{Pause: 9 * time.Second, Slack: slack},
		},
		"GitHub: nothing left of search pauses nothing of core": {
			status: 200, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777636860", "X-RateLimit-Resource", "search"),
			bookings: []heed.Booking{on(perHour(5000))},
		},
		"GitHub: nothing left of search pauses search": {
			status: 200, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777636860", "X-RateLimit-Resource", "search"),
			bookings: []heed.Booking{on(perMinute(30))}, doubtful: true,
			want: store.Brake{Pause: time.Minute, Slack: slack},
		},
		"GitHub: a refused search pauses its key": {
			status: 403, said: headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777636860", "X-RateLimit-Resource", "search"),
			bookings: []heed.Booking{on(perHour(5000))},
			want:     store.Brake{Pause: time.Minute, Slack: slack, Tell: true, Gap: time.Minute, GapFor: time.Minute},
		},
		"X: nothing left of an endpoint does not pause the whole host": {
			status: 200, said: headers("x-rate-limit-limit", "75", "x-rate-limit-remaining", "0", "x-rate-limit-reset", "1777637700"),
			bookings: []heed.Booking{on(perSecond(10))},
		},
		"nothing left, ours has a margin": {
			status: 200, said: headers("X-RateLimit-Limit", "25", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "4"),
			bookings: []heed.Booking{on(store.Per(22, 5*time.Second))}, doubtful: true,
			want: store.Brake{Pause: 4 * time.Second, Slack: slack},
		},
		"nothing left, ours is evenly spaced": {
			status: 200, said: headers("RateLimit-Policy", `"m";q=60;w=60`, "RateLimit", `"m";r=0;t=50`),
			bookings: []heed.Booking{on(store.Per(1, 1050*time.Millisecond).By(store.SlidingWindow))},
			want:     store.Brake{Pause: 50 * time.Second, Slack: slack},
		},
		"nothing left of a third of our evenly spaced units": {
			status: 200, said: headers("RateLimit-Policy", `"m";q=20;w=60`, "RateLimit", `"m";r=0;t=50`),
			bookings: []heed.Booking{on(store.Per(1, 1050*time.Millisecond).By(store.SlidingWindow))},
			want:     store.Brake{Tell: true, Gap: spaced(3 * time.Second), GapFor: maxPause},
		},
		"nothing left of as many units in a named window of another length": {
			status: 200, said: headers("RateLimit-Policy", `"h";q=100;w=3600`, "RateLimit", `"h";r=0;t=3000`),
			bookings: []heed.Booking{on(perMinute(100))},
		},
		"nothing left of as many units until far beyond our window": {
			status: 200, said: headers("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3000"),
			bookings: []heed.Booking{on(perMinute(100))},
		},
		"nothing left of twice our limit": {
			status: 200, said: headers("X-RateLimit-Limit", "200", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"),
			bookings: []heed.Booking{on(perMinute(100))},
		},
		"nothing left of a bucket of ours": {
			status: 200, said: headers("X-RateLimit-Limit", "40", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20"),
			bookings: []heed.Booking{on(perSecond(2).WithBurst(40))}, doubtful: true,
			want: store.Brake{Pause: 20 * time.Second, Slack: slack},
		},
		"OpenAI: nothing left of the tokens, requests are counted": {
			status: 200, said: headers("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
				"x-ratelimit-limit-tokens", "60000", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "55s"),
			bookings: []heed.Booking{on(perMinute(5000))},
		},
		"OpenAI: nothing left of the tokens, which pauses the level of tokens": {
			status: 200, said: headers("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
				"x-ratelimit-limit-tokens", "60000", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "55s"),
			bookings: []heed.Booking{counting(heed.Requests, on(perMinute(5000))), counting(heed.Costs, on(perMinute(60_000)))}, target: 1, doubtful: true,
			want: store.Brake{Pause: 55 * time.Second, Slack: slack},
		},
		"nothing left of ours for 5 s, nor of tokens for longer": {
			status: 200, said: headers("x-ratelimit-limit-requests", "100", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "5s",
				"x-ratelimit-limit-tokens", "60000", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "500s"),
			bookings: []heed.Booking{on(perMinute(100))}, doubtful: true,
			want: store.Brake{Pause: 5 * time.Second, Slack: slack},
		},
		"nothing left of ours for 5 s, and a resource that is ready later": {
			status: 200, said: headers("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5", "Retry-After", "600"),
			bookings: []heed.Booking{on(perMinute(100))}, doubtful: true,
			want: store.Brake{Pause: 5 * time.Second, Slack: slack},
		},
		"nothing left of a budget without a limit or a name": {
			status: 200, said: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"), bookings: []heed.Booking{on(perMinute(100))},
			want: store.Brake{Pause: 50 * time.Second, Slack: slack},
		},
		"nothing left of a budget without a limit, of another name": {
			status: 200, said: headers("X-RateLimit-Remaining-Search", "0", "X-RateLimit-Reset-Search", "50"), bookings: []heed.Booking{on(perMinute(100))},
		},
		"ours has a margin": {
			status: 200, said: headers("X-RateLimit-Limit", "25", "X-RateLimit-Remaining", "10", "X-RateLimit-Reset", "6"),
			bookings: []heed.Booking{on(store.Per(22, 5*time.Second), store.Per(270, time.Minute))},
		},
		"a year's budget says nothing of our pace": {
			status: 200, said: headers("RateLimit-Policy", `"year";q=1000;w=31536000`, "RateLimit", `"year";r=999;t=31530000`),
			bookings: []heed.Booking{on(perSecond(10))},
		},
		"more left than there is": {
			status: 200, said: headers("X-RateLimit-Limit", "1,200", "X-RateLimit-Remaining", "999", "X-RateLimit-Reset", "50"),
			bookings: []heed.Booking{on(perMinute(1500))},
		},
		"a lower limit with a comma": {
			status: 200, said: headers("X-RateLimit-Limit", "1,000", "X-RateLimit-Remaining", "999", "X-RateLimit-Reset", "50"),
			bookings: []heed.Booking{on(perMinute(1200))},
			want:     store.Brake{Tell: true, Gap: 63001 * time.Microsecond, GapFor: 15 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			reads := c.reads
			if reads == heed.Any && len(c.bookings) == 1 {
				reads = heed.Requests
			}
			reader := heed.Reader(new(upstream.Reader), reads)
			signal := reader.Read(&http.Response{StatusCode: c.status, Header: c.said}, now)
			view := heed.Compare(&signal, nil, c.bookings)
			view.UnderWay = c.underWay
			view.SetAgain(c.again)
			if brake, news := view.Brake(); brake != c.want || news != (c.want != store.Brake{}) {
				t.Errorf("brake %+v, news: %v; want %+v", brake, news, c.want)
			}
			if view.Target != c.target || view.Doubtful() != c.doubtful {
				t.Errorf("target %d, doubtful: %v; want %d, %v", view.Target, view.Doubtful(), c.target, c.doubtful)
			}
			if c.want.Validate() != nil {
				t.Errorf("the brake is invalid: %v", c.want.Validate())
			}
		})
	}
}

// TestALookSettlesDoubt: units that our own calls used are no news.
func TestALookSettlesDoubt(t *testing.T) {
	t.Parallel()
	signal := upstream.Signal{Budget: upstream.Budget{Limit: 5000, Remaining: 100, Reset: 200 * time.Second}}
	bookings := []heed.Booking{on(store.Per(5000, time.Hour))}
	view := heed.Compare(&signal, nil, bookings)
	if _, news := view.Brake(); !news || !view.Doubtful() {
		t.Fatal("much less left than at the grant is no news")
	}
	view.Remaining = 120
	if brake, news := view.Brake(); news || view.Doubtful() {
		t.Errorf("after the look: %+v", brake)
	}
}

// FuzzBrake: a store accepts the brake for any signal.
func FuzzBrake(f *testing.F) {
	f.Add(false, int64(0), int64(5000), int64(100), int64(200e9), int64(0), int64(100), int64(1e9), int64(0), int64(0))
	f.Add(true, int64(1e9), int64(-1), int64(-1), int64(-1), int64(60e9), int64(1), int64(60e9), int64(1e9), int64(1<<40))
	f.Fuzz(func(t *testing.T, refused bool, pause, limit, remaining, reset, window, rate, period, told, underWay int64) {
		ours := store.Per(rate, time.Duration(period).Truncate(time.Microsecond))
		if ours.Validate() != nil {
			t.Skip()
		}
		within := func(n, low, high int64) int64 { return min(max(n, low), high) }
		const year = int64(366 * 24 * time.Hour) // the longest time that a reader believes
		signal := upstream.Signal{Refused: refused, Pause: time.Duration(within(pause, 0, int64(maxPause))), Budget: upstream.Budget{
			Limit: within(limit, -1, 1<<53), Remaining: within(remaining, -1, 1<<53),
			Reset: time.Duration(within(reset, -1, year)), Window: time.Duration(within(window, 0, year)),
		}}
		bookings := []heed.Booking{gapped(on(ours), time.Duration(within(told, 0, int64(maxPause))))}
		view := heed.Compare(&signal, nil, bookings)
		view.UnderWay = within(underWay, 0, 1<<40)
		brake, news := view.Brake()
		brake.Gap, brake.GapFor = min(brake.Gap, maxPause), min(brake.GapFor, maxPause) // as the Limiter does
		if err := brake.Validate(); err != nil {
			t.Error(err)
		}
		if again, _ := view.Brake(); news && again.Pause != brake.Pause {
			t.Errorf("%+v, then %+v", brake, again)
		}
	})
}
