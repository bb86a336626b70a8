package httpcases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func penalty(k int64, d time.Duration) func(testing.TB, weir.Store, *middleware.Config) {
	return func(t testing.TB, store weir.Store, cfg *middleware.Config) {
		counter, err := weir.New(weir.Config{
			Name: "refusals", Store: store, Limits: []weir.Limit{weir.PerMinute(k).By(weir.FixedWindow)},
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Penalty = middleware.Penalty{Limiter: counter, For: d}
	}
}

// abnormal is a refusal of a blocked key.
func abnormal(retryAfter string, header map[string]string) answer {
	body := strings.Replace(reduced("", `,"detail":"Requests are paused."`), "temporary-reduced-capacity", "abnormal-usage-detected", 1)
	body = strings.Replace(body, "Request cannot be satisfied due to temporary server capacity constraints",
		"Request not satisfied due to detection of abnormal request pattern", 1)
	return problem(http.StatusTooManyRequests, body, with(header, "Retry-After", retryAfter))
}

var penaltyCases = []testCase{
	{
		name: "the third refusal blocks the key, and nobody else's",
		more: penalty(3, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{request: ann, want: third},
			{request: ann, want: abnormal("300", twoPerMinute("0", "300"))},
			{request: bob, want: first},
			{after: time.Minute, request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{after: 4 * time.Minute, request: ann, want: first},
		},
	},
	{
		name: "refusals far apart block nobody",
		more: penalty(2, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{after: time.Minute, request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
		},
	},
	{
		name:   "a plan's limits are blocked as well",
		config: byPlan,
		more:   penalty(1, 2*time.Minute),
		steps: []step{
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("free", "ann"), want: abnormal("120", draft11(freePolicy, `"free";r=0;t=120`))},
			{after: time.Minute, request: on("free", "ann"), want: abnormal("60", draft11(freePolicy, `"free";r=0;t=60`))},
			{after: time.Minute, request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
		},
	},
	{
		name:   "shadow blocks nobody, however often it would have refused",
		config: func(cfg *middleware.Config) { cfg.Shadow = true },
		more:   penalty(1, 2*time.Minute),
		steps:  []step{{request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}},
	},
}
