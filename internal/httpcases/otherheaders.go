package httpcases

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

func exposing(s middleware.HeaderStyle) func(*middleware.Config) {
	return func(cfg *middleware.Config) { cfg.Headers, cfg.ExposeHeaders = s, true }
}

const (
	annKey = `;pk=:+inUPbYEuq4=:`
	bobKey = `;pk=:Abv4j7zF54s=:`
)

var otherHeaderCases = []testCase{
	{
		// The bubble's clock starts at 946684800, the year 2000.
		name:   "X headers with an epoch",
		config: style(middleware.HeadersXEpoch),
		steps: []step{
			{request: ann, want: served(x("2", "1", "946684830"))},
			{after: time.Microsecond, request: ann, want: served(x("2", "0", "946684830"))},
			{request: ann, want: limited(`"2-in-1m"`, "30", x("2", "0", "946684830"))},
			{after: time.Minute, request: ann, want: served(x("2", "1", "946684891"))},
		},
	},
	{
		name:   "draft 6 headers of the binding limit",
		config: style(middleware.HeadersDraft6),
		limits: []weir.Limit{weir.PerSecond(2), weir.PerHour(3), weir.Per(10, 100*time.Millisecond)},
		steps: []step{
			{request: ann, want: served(draft6("2;w=1, 3;w=3600, 10;w=1", "2", "1", "1"))},
			{after: time.Second, request: ann, want: served(draft6("2;w=1, 3;w=3600, 10;w=1", "3", "1", "1199"))},
			{after: time.Second, request: ann, want: served(draft6("2;w=1, 3;w=3600, 10;w=1", "3", "0", "1198"))},
			{request: ann, want: limited(`"3-in-1h"`, "1198", draft6("2;w=1, 3;w=3600, 10;w=1", "3", "0", "1198"))},
		},
	},
	{
		name:   "draft 6 headers of a plan",
		config: func(cfg *middleware.Config) { byPlan(cfg); cfg.Headers = middleware.HeadersDraft6 },
		steps:  []step{{request: on("free", "ann"), want: served(draft6("1;w=60", "1", "0", "60"))}},
	},
	{
		name:   "draft 6 headers without a known state",
		config: style(middleware.HeadersDraft6),
		store:  deciding(store.Decision{Allowed: true, Degraded: true}),
		steps:  one(served(map[string]string{"RateLimit-Policy": "2;w=60"})),
	},
	{
		name:   "a partition key is a hash",
		config: partitioned,
		steps: []step{
			{request: ann, want: served(draft11(`"2-in-1m";q=2;w=60`+annKey, `"2-in-1m";r=1;t=30`+annKey))},
			{request: bob, want: served(draft11(`"2-in-1m";q=2;w=60`+bobKey, `"2-in-1m";r=1;t=30`+bobKey))},
			{request: ann, want: served(draft11(`"2-in-1m";q=2;w=60`+annKey, `"2-in-1m";r=0;t=30`+annKey))},
			{request: ann, want: limited(`"2-in-1m"`, "30", draft11(`"2-in-1m";q=2;w=60`+annKey, `"2-in-1m";r=0;t=30`+annKey))},
		},
	},
	{
		name:   "every limit has the partition key",
		config: partitioned,
		limits: []weir.Limit{weir.PerMinute(1).WithName("a"), weir.PerHour(1).WithName("b")},
		steps: one(served(draft11(`"a";q=1;w=60`+annKey+`, "b";q=1;w=3600`+annKey,
			`"a";r=0;t=60`+annKey+`, "b";r=0;t=3600`+annKey))),
	},
	{
		name:   "headers are exposed to scripts",
		config: exposing(middleware.HeadersDraft11),
		steps: []step{
			{request: ann, want: served(with(twoPerMinute("1", "30"), exposeHeader, "RateLimit, RateLimit-Policy, Retry-After"))},
			{request: nobody, want: unidentified},
		},
	},
	{
		name:   "X headers are exposed to scripts",
		config: exposing(middleware.HeadersX),
		steps: one(served(with(x("2", "1", "30"), exposeHeader,
			"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"))),
	},
	{
		name:   "draft 6 headers are exposed to scripts",
		config: exposing(middleware.HeadersDraft6),
		steps: one(served(with(draft6("2;w=60", "2", "1", "30"), exposeHeader,
			"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, Retry-After"))),
	},
	{
		name:   "Retry-After is exposed to scripts",
		config: exposing(middleware.HeadersNone),
		steps: []step{
			{request: ann, want: served(map[string]string{exposeHeader: "Retry-After"})},
			{request: ann, want: served(map[string]string{exposeHeader: "Retry-After"})},
			{request: ann, want: limited(`"2-in-1m"`, "30", map[string]string{exposeHeader: "Retry-After"})},
		},
	},
	{
		name:  "a refusal while the store is away is reduced capacity",
		store: deciding(store.Decision{Degraded: true, Reason: weir.ReasonLimited, Limit: store.Per(2, time.Minute), RetryAfter: time.Minute}),
		steps: one(problem(http.StatusTooManyRequests, reduced(`"2-in-1m"`), with(twoPerMinute("0", "60"), "Retry-After", "60"))),
	},
}

func partitioned(cfg *middleware.Config) { cfg.PartitionSecret = []byte("0123456789abcdef") }
