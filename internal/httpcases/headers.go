package httpcases

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

const (
	secondAndMinute = `"10-in-1s";q=10;w=1, "300-in-1m";q=300;w=60`
	burstAndDay     = `"burst";q=2;w=1, "day";q=5;w=86400`
)

var headerCases = []testCase{
	{
		name:   "every limit is listed in order",
		limits: []weir.Limit{weir.PerSecond(10), weir.PerMinute(300)},
		steps: []step{
			{request: ann, want: served(draft11(secondAndMinute, `"10-in-1s";r=9;t=1, "300-in-1m";r=299;t=1`))},
			{request: ann, want: served(draft11(secondAndMinute, `"10-in-1s";r=8;t=1, "300-in-1m";r=298;t=1`))},
		},
	},
	{
		name:   "a refusal lists every limit and names those that refuse",
		limits: []weir.Limit{weir.PerSecond(2).WithName("burst"), weir.PerDay(5).WithName("day")},
		steps: []step{
			{request: ann, want: served(draft11(burstAndDay, `"burst";r=1;t=1, "day";r=4;t=17280`))},
			{request: ann, want: served(draft11(burstAndDay, `"burst";r=0;t=1, "day";r=3;t=17280`))},
			{request: ann, want: limited(`"burst"`, "1", draft11(burstAndDay, `"burst";r=0;t=1, "day";r=3;t=17280`))},
			{after: time.Second, request: ann, want: served(draft11(burstAndDay, `"burst";r=1;t=1, "day";r=2;t=17279`))},
			{after: time.Second, request: ann, want: served(draft11(burstAndDay, `"burst";r=1;t=1, "day";r=1;t=17278`))},
			{after: time.Second, request: ann, want: served(draft11(burstAndDay, `"burst";r=1;t=1, "day";r=0;t=17277`))},
			{after: time.Second, request: ann, want: limited(`"day"`, "17276", draft11(burstAndDay, `"burst";r=2;t=0, "day";r=0;t=17276`))},
		},
	},
	{
		name:   "both limits refuse",
		limits: []weir.Limit{weir.PerMinute(1), weir.PerHour(1)},
		steps: []step{
			{request: ann, want: served(draft11(`"1-in-1m";q=1;w=60, "1-in-1h";q=1;w=3600`, `"1-in-1m";r=0;t=60, "1-in-1h";r=0;t=3600`))},
			{request: ann, want: limited(`"1-in-1m","1-in-1h"`, "3600",
				draft11(`"1-in-1m";q=1;w=60, "1-in-1h";q=1;w=3600`, `"1-in-1m";r=0;t=60, "1-in-1h";r=0;t=3600`))},
		},
	},
	{
		name:   "a burst is the quota and its refill the window",
		limits: []weir.Limit{weir.PerMinute(60).WithBurst(100), weir.PerMinute(60).WithBurst(5).WithName("small")},
		steps: one(served(draft11(`"60-in-1m";q=100;w=100, "small";q=5;w=5`,
			`"60-in-1m";r=99;t=1, "small";r=4;t=1`))),
	},
	{
		name:   "windows are rounded up, and left out below a second",
		limits: []weir.Limit{weir.Per(3, 1500*time.Millisecond), weir.Per(10, 100*time.Millisecond), weir.PerSecond(10).WithBurst(1)},
		steps: one(served(draft11(`"3-in-1.5s";q=3;w=2, "10-in-100ms";q=10, "10-in-1s";q=1`,
			`"3-in-1.5s";r=2;t=1, "10-in-100ms";r=9;t=1, "10-in-1s";r=0;t=1`))),
	},
	{
		name:   "names are quoted",
		limits: []weir.Limit{weir.PerMinute(1).WithName(`a "b" \c`)},
		steps: []step{
			{request: ann, want: served(draft11(`"a \"b\" \\c";q=1;w=60`, `"a \"b\" \\c";r=0;t=60`))},
			{request: ann, want: limited(`"a \"b\" \\c"`, "60", draft11(`"a \"b\" \\c";q=1;w=60`, `"a \"b\" \\c";r=0;t=60`))},
		},
	},
	{
		name: "integers have fifteen digits at most",
		store: deciding(store.Decision{
			Allowed: true, Limit: store.Per(store.MaxUnits, time.Hour), Remaining: store.MaxUnits - 1, ResetAfter: time.Microsecond,
		}),
		limits: []weir.Limit{weir.Per(store.MaxUnits, time.Hour).WithName("huge")},
		steps:  one(served(draft11(`"huge";q=999999999999999;w=3600`, `"huge";r=999999999999999;t=1`))),
	},
	{
		name:  "a decision without states has the policy alone",
		store: deciding(store.Decision{Allowed: true, Degraded: true}),
		steps: one(served(map[string]string{"RateLimit-Policy": `"2-in-1m";q=2;w=60`})),
	},
	{
		name:   "a refusal that knows only the binding limit names it",
		store:  deciding(store.Decision{Degraded: true, Reason: weir.ReasonLimited, Limit: store.Per(7, time.Hour), RetryAfter: time.Minute}),
		limits: []weir.Limit{weir.PerMinute(1), weir.PerHour(7)},
		steps: one(problem(http.StatusTooManyRequests, reduced(`"7-in-1h"`), map[string]string{
			"Retry-After": "60", "RateLimit-Policy": `"1-in-1m";q=1;w=60, "7-in-1h";q=7;w=3600`,
		})),
	},
}

var xHeaderCases = []testCase{
	{
		name:   "X headers of one limit",
		config: xStyle,
		steps: []step{
			{request: ann, want: served(x("2", "1", "30"))},
			{request: ann, want: served(x("2", "0", "30"))},
			{request: ann, want: limited(`"2-in-1m"`, "30", x("2", "0", "30"))},
		},
	},
	{
		name:   "X headers of the binding limit",
		config: xStyle,
		limits: []weir.Limit{weir.PerSecond(2), weir.PerHour(3)},
		steps: []step{
			{request: ann, want: served(x("2", "1", "1"))},
			{after: time.Second, request: ann, want: served(x("3", "1", "1199"))},
			{after: time.Second, request: ann, want: served(x("3", "0", "1198"))},
			{after: time.Second, request: ann, want: limited(`"3-in-1h"`, "1197", x("3", "0", "1197"))},
		},
	},
	{
		name:   "X headers need a known state",
		config: xStyle,
		store:  deciding(store.Decision{Allowed: true, Degraded: true}),
		steps:  one(unlimited),
	},
	{
		name:   "no headers but Retry-After",
		config: func(cfg *middleware.Config) { cfg.Headers = middleware.HeadersNone },
		steps: []step{
			{request: ann, want: unlimited},
			{request: ann, want: unlimited},
			{request: ann, want: limited(`"2-in-1m"`, "30", nil)},
		},
	},
}
