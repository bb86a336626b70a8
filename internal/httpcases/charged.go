package httpcases

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// storedCost looks the cost up in a store that is away.
func storedCost(cfg *middleware.Config) {
	cfg.Cost = func(*http.Request) (int64, error) { return 0, &weir.StoreError{Op: "peek", Err: errSecret} }
}

func options(header ...string) request {
	h := http.Header{"X-User": {"ann"}}
	for _, name := range header {
		h[name] = []string{"https://example.com"}
	}
	return request{method: http.MethodOptions, header: h}
}

var requestCases = []testCase{
	{
		name:   "skipped requests cost nothing and need no key",
		config: func(cfg *middleware.Config) { cfg.Skip = health },
		steps: []step{
			{request: request{header: http.Header{"X-Health": {"1"}}}, want: unlimited},
			{request: request{header: http.Header{"X-Health": {"1"}, "X-User": {"ann"}}}, want: unlimited},
			{request: request{header: http.Header{"X-Health": {"1"}, "X-User": {"ann", "bob"}}}, want: unlimited},
			{request: ann, want: first},
		},
	},
	{
		name:   "preflights that pass cost nothing, other OPTIONS do",
		config: func(cfg *middleware.Config) { cfg.PassPreflights = true },
		steps: []step{
			{request: options("Origin", "Access-Control-Request-Method"), want: unlimited},
			{request: request{method: http.MethodOptions, header: http.Header{
				"Origin": {"https://example.com"}, "Access-Control-Request-Method": {"PUT"},
			}}, want: unlimited},
			{request: options(), want: first},
			{request: options("Origin"), want: second},
			{request: options("Access-Control-Request-Method"), want: third},
		},
	},
	{
		name: "preflights are counted, and need a key",
		steps: []step{
			{request: options("Origin", "Access-Control-Request-Method"), want: first},
			{request: options("Origin", "Access-Control-Request-Method"), want: second},
			{request: options("Origin", "Access-Control-Request-Method"), want: third},
			{request: ann, want: third},
			{request: request{method: http.MethodOptions, header: http.Header{
				"Origin": {"https://example.com"}, "Access-Control-Request-Method": {"PUT"},
			}}, want: unidentified},
		},
	},
	{
		name:   "requests cost as the cost function says",
		limits: []weir.Limit{weir.PerMinute(10)},
		config: costHeader,
		steps: []step{
			{request: costing("7"), want: served(tenPerMinute("3", "6"))},
			{request: costing("4"), want: limited(`"10-in-1m"`, "6", tenPerMinute("3", "6"))},
			{request: costing("3"), want: served(tenPerMinute("0", "6"))},
			{request: costing("0"), want: served(tenPerMinute("0", "6"))},
			{after: time.Minute, request: costing("0"), want: served(tenPerMinute("10", "0"))},
			{request: costing("11"), want: problem(http.StatusTooManyRequests, exceeded(`"10-in-1m"`, neverDetail), tenPerMinute("10", "0"))},
		},
	},
	{
		name:   "a cost that is wrong or unknown is not an outage",
		config: costHeader,
		steps:  []step{{request: costing("-1"), want: broken}, {request: costing("cheap"), want: broken}, {request: costing("1"), want: first}},
	},
	{
		name:   "a cost that a store could not tell is not an outage",
		config: storedCost,
		steps:  one(broken),
	},
	{
		name:   "a cost that a store could not tell is not an outage, closed",
		config: func(cfg *middleware.Config) { storedCost(cfg); failClosed(cfg) },
		steps:  one(broken),
	},
	{
		name: "a cost that comes too late is not charged",
		config: func(cfg *middleware.Config) {
			cfg.Cost = func(r *http.Request) (int64, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}
		},
		steps: []step{{takes: time.Second, request: request{user: "ann", ctx: shortly}, want: ended}},
	},
}

var planCases = []testCase{
	{
		name:   "every user has the limits of the plan",
		config: byPlan,
		steps: []step{
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("pro", "bob"), want: served(draft11(proPolicy, `"pro";r=9;t=1, "pro-day";r=999;t=87`))},
			{request: on("free", "ann"), want: limited(`"free"`, "60", draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("pro", "bob"), want: served(draft11(proPolicy, `"pro";r=8;t=1, "pro-day";r=998;t=87`))},
		},
	},
	{
		name:   "a plan without limits is a mistake",
		config: byPlan,
		steps:  []step{{request: on("empty", "ann"), want: broken}, {request: on("unheard of", "ann"), want: broken}},
	},
	{name: "a plan with a wrong limit is a mistake", config: byPlan, steps: []step{{request: on("invalid", "ann"), want: broken}}},
	{name: "a plan that is not found fails open", config: byPlan, steps: []step{{request: on("lost", "ann"), want: unlimited}}},
	{
		name:   "a plan that is not found fails closed",
		config: func(cfg *middleware.Config) { byPlan(cfg); failClosed(cfg) },
		steps:  []step{{request: on("lost", "ann"), want: unavailable}},
	},
	{
		name: "the lookup's mistakes are no outage",
		config: func(cfg *middleware.Config) {
			cfg.Limits = func(*http.Request) ([]weir.Limit, error) {
				return nil, (weir.Limit{Rate: -1}).Validate()
			}
		},
		steps: one(broken),
	},
}
