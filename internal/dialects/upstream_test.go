package dialects_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// said is the signal and the budget that package upstream reads in a response.
func said(limit, remaining int64, reset, window, pause time.Duration) upstream.Signal {
	return upstream.Signal{Pause: pause, Budget: upstream.Budget{Limit: limit, Remaining: remaining, Reset: reset, Window: window}}
}

// Package upstream reads each dialect right, 1.25 s after the first of 4 requests:
// with a unit left, with none left, and after a refusal.
func TestDialectsAreReadAsMeant(t *testing.T) {
	t.Parallel()
	// No time is believed that is longer than a year, no pause over 15 minutes.
	const s, year, maxPause = time.Second, 366 * 24 * time.Hour, 15 * time.Minute
	fixed := []weir.Limit{weir.Per(4, 10*s).By(store.FixedWindow)}
	two := []weir.Limit{weir.PerMinute(100).By(store.FixedWindow), weir.Per(4, 10*s).By(store.FixedWindow)}
	odd := []weir.Limit{weir.Per(4, 10*s).WithName(`a "b\`).By(store.FixedWindow)}
	cases := []struct {
		name    string
		dialect dialects.Dialect
		limits  []weir.Limit
		budget  string
		left    upstream.Signal // 1 remaining
		empty   upstream.Signal // 0 remaining, admitted
		pause   time.Duration   // when refused, which says 9 s in whole seconds
	}{
		{"draft 11", dialects.Draft11, fixed, "4-in-10s", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 11 of two limits", dialects.Draft11, two, "4-in-10s", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 11 of an odd name", dialects.Draft11, odd, `a "b\`, said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 07", dialects.Draft07, fixed, "", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 07 of two limits", dialects.Draft07, two, "", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 06", dialects.Draft06, fixed, "", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"draft 06 of two limits", dialects.Draft06, two, "", said(4, 1, 9*s, 10*s, 0), said(4, 0, 9*s, 10*s, 9*s), 9 * s},
		{"X-RateLimit with an epoch", dialects.XRateLimitEpoch, fixed, "", said(4, 1, 9*s, 0, 0), said(4, 0, 9*s, 0, 9*s), 9 * s},
		{"X-RateLimit with a delta", dialects.XRateLimitDelta, fixed, "", said(4, 1, 9*s, 0, 0), said(4, 0, 9*s, 0, 9*s), 9 * s},
		{"GitHub", dialects.GitHub, fixed, "4-in-10s", said(4, 1, 9*s, 0, 0), said(4, 0, 9*s, 0, 9*s), 9 * s},
		{"OpenAI", dialects.OpenAI, fixed, "requests", said(4, 1, 8750*time.Millisecond, 0, 0), said(4, 0, 8750*time.Millisecond, 0, 8750*time.Millisecond), 9 * s},
		{"OpenAI of two limits", dialects.OpenAI, two, "tokens", said(4, 1, 8750*time.Millisecond, 0, 0), said(4, 0, 8750*time.Millisecond, 0, 8750*time.Millisecond), 9 * s},
		{"Shopify, which says no reset", dialects.Shopify, fixed, "shopify-shop-api-call", said(4, 1, -1, 0, 0), said(4, 0, -1, 0, 0), 9 * s},
		{"lies: the year 9999", dialects.LieFarFuture, fixed, "", said(100, 0, year, year, maxPause), said(100, 0, year, year, maxPause), maxPause},
		{"lies: negative", dialects.LieNegative, fixed, "", said(-1, -1, -1, 0, 0), said(-1, -1, -1, 0, 0), 0},
		{"lies: more than an integer holds", dialects.LieOverflow, fixed, "", said(-1, -1, year, 0, 0), said(-1, -1, year, 0, 0), maxPause},
		{"lies: no numbers", dialects.LieRubbish, fixed, "", said(-1, -1, -1, 0, 0), said(-1, -1, -1, 0, 0), 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := provider(t, tc.dialect, tc.limits)
				var reader upstream.Reader
				read := func() upstream.Signal { return reader.Read(get(t, p), time.Now()) }
				read()
				read()
				time.Sleep(1250 * time.Millisecond)
				tc.left.Name, tc.empty.Name = tc.budget, tc.budget
				if got := read(); got != tc.left {
					t.Errorf("with 1 remaining:\n%+v, want\n%+v", got, tc.left)
				}
				if got := read(); got != tc.empty {
					t.Errorf("with none remaining:\n%+v, want\n%+v", got, tc.empty)
				}
				refused := tc.empty
				refused.Refused, refused.Pause = true, tc.pause
				refused.Cause.Limit = tc.budget // the one without a unit left
				if got := read(); got != refused {
					t.Errorf("refused:\n%+v, want\n%+v", got, refused)
				}
			})
		})
	}
}
